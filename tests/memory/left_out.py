"""The error of a start that the constants do not know: they are fitted again without all starts of its model.

`python -m tests.memory.left_out` prints the table of docs/memory.md; a test holds the page to it. Fitted are the memory
outside PyTorch, the size of a CUDA graph and the limits of activations and graphs. The form of the formulas was chosen
with these starts in view, and the factor of the image encoder has one start, Gemma-3-12B with images: neither is left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from unittest.mock import patch

from sparkiac.memory import overhead
from sparkiac.memory.overhead import Device
from sparkiac.memory.values import GIB
from tests.memory.starts import STARTS, Start

MIB: Final = 1 << 20
H100: Final = tuple(each for each in STARTS if "Spark" not in each.name)
_SPREAD_TERMS: Final = ("activations", "CUDA graphs")


class Fitted(NamedTuple):
    """The constants that a set of starts gives."""

    device: Device
    graph_bytes: int
    """Of each captured batch size, beside the fixed part."""
    spreads: tuple[tuple[float, float], ...]
    """Limits of activations and of graphs, as shares of the formula: a tenth beyond those of the starts."""


class LeftOut(NamedTuple):
    """The pool of a start as it is predicted from the starts of other models, in GiB."""

    start: Start
    pool: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Return the relative error of the pool: above nothing is too optimistic."""
        return self.pool / self.start.pool - 1

    @property
    def inside(self) -> bool:
        """Return whether the pool of the log is in the range."""
        return self.low <= self.start.pool <= self.high


def fitted(starts: Iterable[Start]) -> Fitted:
    """Fit the constants to starts."""
    known = tuple(starts)
    outside = [each.record.terms.non_torch_bytes or 0 for each in known]
    device = Device(max(outside), "other starts", min(outside), max(outside))
    graphs = [size for each in known for size in _graph_bytes(each)]
    graph = math.ceil(sum(graphs) / len(graphs) / MIB) * MIB
    with patch.object(overhead, "GRAPH_BYTES", graph):
        shares = [dict(_shares(each)) for each in known]
    limits = ([each[term] for each in shares if term in each] for term in _SPREAD_TERMS)
    return Fitted(device, graph, tuple((min(found) * 0.9, max(found) * 1.1) for found in limits))


def left_out(start: Start) -> LeftOut:
    """Predict the pool of a start from the starts of other models."""
    model = start.record.subject.model
    found = fitted(each for each in H100 if each.record.subject.model != model)
    activations, graphs = found.spreads
    changed = {"GRAPH_BYTES": found.graph_bytes, "ACTIVATIONS_SPREAD": activations, "GRAPHS_SPREAD": graphs}
    with patch.multiple(overhead, **changed):
        pool = start.repeated(None, device=found.device).pool
    return LeftOut(start, *((size or 0) / GIB for size in (pool.size_bytes, pool.low_bytes, pool.high_bytes)))


def table() -> str:
    """Return the table of docs/memory.md."""
    rows = ["| start | KV cache | predicted | error | range |", "|---|---|---|---|---|"]
    rows += (
        f"| {each.start.name} | {each.start.pool:.2f} GiB | {each.pool:.2f} GiB | {each.error:+.1%} | "
        f"{each.low:.1f} to {each.high:.1f} GiB |"
        for each in map(left_out, H100)
    )
    return "\n".join(rows) + "\n"


def _shares(start: Start) -> Iterator[tuple[str, float]]:
    """Yield the recorded size of each term as a share of the formula."""
    terms = start.record.terms
    recorded = {"activations": terms.activations_bytes, "CUDA graphs": _recorded_graphs(start)}
    for term in (*start.predicted.inside, *start.predicted.outside):
        if term.name in recorded and isinstance(term.size_bytes, int):
            yield term.name, (recorded[term.name] or 0) / term.size_bytes


def _graph_bytes(start: Start) -> Iterator[float]:
    """Yield the recorded bytes of each captured size of a start, beside the fixed part."""
    with patch.object(overhead, "GRAPH_BYTES", 0):
        terms = (*start.predicted.inside, *start.predicted.outside)
    fixed = [term.size_bytes for term in terms if term.name == "CUDA graphs"]
    for size in fixed:
        assert isinstance(size, int)
        yield (_recorded_graphs(start) - size) / start.options.graph_sizes


def _recorded_graphs(start: Start) -> int:
    terms = start.record.terms
    return (terms.graphs_estimate_bytes if start.graphs is None else terms.graphs_bytes) or 0


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201  a program
    print(fitted(H100))  # noqa: T201  a program
