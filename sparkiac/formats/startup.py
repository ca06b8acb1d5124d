"""What the log of a start says of memory, beside what was worked out, and what of it belongs into the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from sparkiac.formats import terminal
from sparkiac.memory.values import GIB
from sparkiac.model.inventory import Measured as Key
from sparkiac.plan.numbers import count
from sparkiac.plan.startup_log import SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from sparkiac.memory.values import Calibration
    from sparkiac.plan.startup_log import StartupComparison

LOOKED_FOR: Final = (
    "Model loading took … GiB",
    "Available KV cache memory: … GiB",
    "Graph capturing finished in … took … GiB",
    "Free memory on device … (…/… GiB)",
    "Desired GPU memory utilization is (…, … GiB)",
    "GPU KV cache size: … tokens",
    "Maximum concurrency for … tokens per request: …x",
)
"""Lines of vLLM that are understood."""
NOTHING: Final = f"has none of the lines in which vLLM tells of its memory: {'; '.join(LOOKED_FOR)}"


def plain(measured: StartupComparison) -> dict[str, Any]:
    """Give {"compared": [{name, computed, measured, error}], "measured": {…}, "total_gib": …, "notes": […]}."""
    rows = [
        {"name": row.name, "computed": row.predicted, "measured": row.measured, "error": round(row.error, 4)}
        for row in measured.compared
    ]
    total = None if measured.total_bytes is None else total_gib(measured.total_bytes)
    kept = keys(measured.calibration)
    return {"compared": rows, "measured": kept, "total_gib": total, "notes": list(measured.notes)}


def page(measured: StartupComparison) -> Iterator[RenderableType]:
    """Lay out the comparison, and the lines to paste."""
    if measured.compared:
        table = terminal.table("", "computed", "measured", "error", right=("computed", "measured", "error"))
        for row in measured.compared:
            shown = (_figure(row.name, row.predicted), _figure(row.name, row.measured), f"{100 * row.error:+.1f} %")
            table.add_row(Text(row.name), *(Text(cell) for cell in shown))
        yield table
        yield Text()
    for note in measured.notes:
        yield Text(note, style="yellow")
    yield from _lines(measured)


def keys(calibration: Calibration) -> dict[str, int]:
    """Give what the key `measured` of a deployment takes."""
    said = calibration._asdict()
    return {key: said[key] for key in Key.model_fields if said[key] is not None}


def total_gib(size_bytes: int) -> float:
    """Give a total with the two digits that a log has of it."""
    return round(size_bytes / GIB, 2)


def _lines(measured: StartupComparison) -> Iterator[RenderableType]:
    kept = keys(measured.calibration)
    if kept:
        pairs = ", ".join(f"{key}: {value}" for key, value in kept.items())
        yield Text(f"Into the inventory, below deployments.{measured.name}:")
        yield terminal.Verbatim(f"  measured: {{{pairs}}}")
    if measured.total_bytes is not None:
        yield Text(f"and below hosts.{measured.host}:")
        yield terminal.Verbatim(f"  memory: {{total_gib: {total_gib(measured.total_bytes):g}}}")


def _figure(name: str, value: float) -> str:
    if name in SIZES:
        return f"{value / GIB:.2f} GiB"
    return f"{value:.2f}" if name == "concurrency" else count(round(value))
