"""Tables that compare the plan with a startup log, and the path of the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from sparkiac.formats import terminal
from sparkiac.memory.values import GIB
from sparkiac.plan.numbers import count
from sparkiac.plan.startup_log import SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from sparkiac.model.records import StartSubject
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
"""Lines of a vLLM log that are read."""
NOTHING: Final = f"it has no memory figures of vLLM, such as: {'; '.join(LOOKED_FOR)}"


def plain(found: StartupComparison | None, target: Path) -> dict[str, Any]:
    """Return {"compared": [{name, computed, measured, error}], "record": PATH, "total_gib": …, "notes": […]}."""
    rows = [
        {"name": row.name, "computed": row.predicted, "measured": row.measured, "error": round(row.error, 4)}
        for row in (found.compared if found else ())
    ]
    total = None if found is None or found.total_bytes is None else total_gib(found.total_bytes)
    return {"compared": rows, "record": str(target), "total_gib": total, "notes": list(found.notes) if found else []}


def page(found: StartupComparison | None, target: Path, subject: StartSubject) -> Iterator[RenderableType]:
    """Return the comparison, the path of the record, and the facts that it must contain before it is used."""
    if found is not None:
        yield from compared(found)
    yield Text(f"Recorded in {target}.")
    missing = [what for what, value in (("image", subject.digest), ("model", subject.commit)) if value is None]
    if missing:
        yield Text(f"The plan does not use it: the lock has no {' and no '.join(missing)}.", style="yellow")
    if found is not None and found.total_bytes is not None:
        yield Text(f"Into the inventory, below hosts.{found.host}:")
        yield terminal.Verbatim(f"  memory: {{total_gib: {total_gib(found.total_bytes):g}}}")


def compared(found: StartupComparison) -> Iterator[RenderableType]:
    """Return the comparison."""
    if found.compared:
        table = terminal.table("", "computed", "measured", "error", right=("computed", "measured", "error"))
        for row in found.compared:
            shown = (_figure(row.name, row.predicted), _figure(row.name, row.measured), f"{100 * row.error:+.1f} %")
            table.add_row(Text(row.name), *(Text(cell) for cell in shown))
        yield table
        yield Text()
    for note in found.notes:
        yield Text(note, style="yellow")


def total_gib(size_bytes: int) -> float:
    """Return a total rounded to 0.01 GiB, as in the log."""
    return round(size_bytes / GIB, 2)


def _figure(name: str, value: float) -> str:
    if name in SIZES:
        return f"{value / GIB:.2f} GiB"
    return f"{value:.2f}" if name == "concurrency" else count(round(value))
