"""What an apply would change on each host, as a table and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from sparkiac.formats import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from sparkiac.commands.apply.looks import FleetLook, HostLook, Lease, UnitStep

_SHORT: Final = 8
"""Characters of a generation in the table; JSON has all of them."""
_COLUMNS: Final = 29
"""Columns of generation, files and the space between the columns."""
_GAP: Final = "  "
_UNIT: Final = "sparkiac-"
_STYLES: Final = {"restart": "yellow", "start": "green", "stop": "red", "remove": "red"}
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600


def page(look: FleetLook, *, width: int) -> Iterator[RenderableType]:
    """Return the hosts that change, then those that do not, and the order."""
    if look.changing:
        room = width - _COLUMNS - max(len(host.host) for host in look.changing)
        table = terminal.table("host", "generation", "files", "changes", right=("files",), whole=("host", "generation"))
        for host in look.changing:
            table.add_row(Text(host.host), _generations(host), Text(str(len(host.files))), _changes(host, room))
        yield table
        yield Text()
    if same := [host.host for host in look.hosts if not host.differs]:
        yield Text(f"unchanged: {', '.join(same)}", style="dim")
    for title, found in (("unreachable", look.unreachable), ("not compared", look.failed)):
        for name, reason in found:
            yield Text.assemble((f"{title}: {name}", "bold red"), f": {reason}")
    for host in look.hosts:
        yield from _state(host)
    if look.changing:
        yield Text.assemble(("order: ", "bold"), order(look.batches))
    if look.retired:
        yield Text(f"retired: {', '.join(look.retired)}: what sparkiac put there is removed at the end")


def _state(host: HostLook) -> Iterator[Text]:
    """Return who has the lease of a host, and which of its servers do not work."""
    if host.lease and host.lease.free:
        yield Text.assemble((f"takes over: {host.host}", "yellow"), f": {holder(host.lease)}")
    elif host.lease:
        yield Text.assemble((f"in use: {host.host}", "bold red"), f": {holder(host.lease)}")
    for fault in host.faults:
        yield Text.assemble((f"does not work: {host.host}", "bold red"), f": {fault}")


def order(batches: Sequence[Sequence[str]]) -> str:
    """Return the order of the rollout, such as `spark-01, then spark-02 and spark-03 together`."""
    return ", then ".join(names(batch) + (" together" if len(batch) > 1 else "") for batch in batches)


def names(hosts: Sequence[str]) -> str:
    """Return names in words: `a`, `a and b`, `a, b and c`."""
    *first, last = hosts
    return f"{', '.join(first)} and {last}" if first else last


def holder(lease: Lease) -> str:
    """Return who has the lease of a host, in which step the apply is or ended, and what to do."""
    if lease.ended:
        said = f"{lease.owner} has ended in the step {lease.step}, {duration(lease.renewed_s)} ago"
        return said if lease.free else f"{said}; --take-over takes its lease"
    return f"{lease.owner} has been applying for {duration(lease.age_s)}, step {lease.step}"


def duration(seconds: float) -> str:
    """Return a time such as 8 s, 3 min 20 s or 2 h 5 min."""
    whole = int(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"


def data(look: FleetLook) -> dict[str, Any]:
    """Return {"hosts": [{host, now, new, differs, files, …}], "unreachable": {…}, …}."""
    return {
        "hosts": [_plain(host) for host in look.hosts],
        "unreachable": dict(look.unreachable),
        "failed": dict(look.failed),
        "batches": look.batches,
        "retired": look.retired,
    }


def _plain(host: HostLook) -> dict[str, Any]:
    lease = None if host.lease is None else host.lease._asdict()
    return host._asdict() | {"units": [step._asdict() for step in host.units], "lease": lease}


def _generations(host: HostLook) -> Text:
    now = "none" if host.now is None else host.now[:_SHORT]
    return Text(f"{now} → {host.new[:_SHORT]}" if now != host.new[:_SHORT] else now)


def _changes(host: HostLook, room: int) -> Text:
    lines = [_step(step, room) for step in host.units]
    for title, found in (("kernel settings", host.sysctls), ("secrets", host.secrets)):
        if found:
            lines.append(Text(f"{title}: {', '.join(found)}"))
    lines += map(Text, host.missing)
    return Text("\n").join(lines or [Text("no unit restarts", style="dim")])


def _step(step: UnitStep, room: int) -> Text:
    """Return a step in one line if it fits; otherwise the reason is below it."""
    action = (step.action, _STYLES.get(step.action, ""))
    unit = f" {step.unit.removeprefix(_UNIT)}"
    fits = len(step.action) + len(unit) + len(_GAP) + len(step.because) <= room
    return Text.assemble(action, unit, _GAP if fits else f"\n{_GAP}", (step.because, "dim"))
