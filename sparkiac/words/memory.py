"""A comparison of the plan with a startup log, and the path of the record, as a page and as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sparkiac.memory.values import GIB
from sparkiac.model.records import StartSubject
from sparkiac.plan.numbers import count
from sparkiac.plan.startup_log import SIZES, StartupComparison
from sparkiac.words.page import Blocks, Data, Verbatim, styled, table

LOOKED_FOR: Final = (
    "Model loading took … GiB",
    "Available KV cache memory: … GiB",
    "Graph capturing finished in … took … GiB",
    "Free memory on device … (…/… GiB)",
    "Desired GPU memory utilization is (…, … GiB)",
    "GPU KV cache size: … tokens",
    "Maximum concurrency for … tokens per request: …x",
)
"""Lines of a vLLM log that are read."""
NOTHING: Final = f"it has no memory figures of vLLM, such as: {'; '.join(LOOKED_FOR)}"


def data(found: StartupComparison | None, target: Path) -> Data:
    """Return {"compared": [{name, computed, measured, error}], "record": PATH, "total_gib": …, "notes": […]}."""
    rows = [
        {"name": row.name, "computed": row.predicted, "measured": row.measured, "error": round(row.error, 4)}
        for row in (found.compared if found else ())
    ]
    total = None if found is None or found.total_bytes is None else total_gib(found.total_bytes)
    return {"compared": rows, "record": str(target), "total_gib": total, "notes": list(found.notes) if found else []}


def page(found: StartupComparison | None, target: Path, subject: StartSubject) -> Blocks:
    """Return the comparison, the path of the record, and the facts that it must contain before it is used."""
    if found is not None:
        yield from compared(found)
    yield f"Recorded in {target}."
    missing = [what for what, value in (("image", subject.digest), ("model", subject.commit)) if value is None]
    if missing:
        yield styled(f"The plan does not use it: the lock has no {' and no '.join(missing)}.", "yellow")
    if found is not None and found.total_bytes is not None:
        yield f"Into the inventory, below hosts.{found.host}:"
        yield Verbatim(f"  memory: {{total_gib: {total_gib(found.total_bytes):g}}}")


def compared(found: StartupComparison) -> Blocks:
    """Return the comparison."""
    if found.compared:
        heads = ("", "computed", "measured", "error")
        rows = (
            (row.name, _figure(row.name, row.predicted), _figure(row.name, row.measured), f"{100 * row.error:+.1f} %")
            for row in found.compared
        )
        yield from (table(heads, rows, right=heads[1:]), "")
    yield from (styled(note, "yellow") for note in found.notes)


def total_gib(size_bytes: int) -> float:
    """Return a total rounded to 0.01 GiB, as in the log."""
    return round(size_bytes / GIB, 2)


def _figure(name: str, value: float) -> str:
    if name in SIZES:
        return f"{value / GIB:.2f} GiB"
    return f"{value:.2f}" if name == "concurrency" else count(round(value))
