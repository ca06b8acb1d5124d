"""What an apply would change on each host, as a page and as data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sparkiac.fleet.looks import FleetLook, FleetState, HostLook, Lease
from sparkiac.host.switch.effects import Effect
from sparkiac.host.switch.history import COMMITTED
from sparkiac.words.page import BAD, Blocks, Data, Line, Row, counted, duration, grid, line, names, plain, styled, table

_SHORT: Final = 8
"""Characters of a generation in the table; JSON has all of them."""
_COLUMNS: Final = 30
"""Width of the columns generation and files with the space between the columns."""
_SHORT_STATE: Final = 12
"""Characters of the name of a state, which is the commit or the name of the apply."""
_NAMED: Final = 4
"""More hosts are counted, not named."""
_GAP: Final = "  "
_UNIT: Final = "sparkiac-"
_STYLES: Final = {"restart": "yellow", "start": "green", "stop": "red", "remove": "red"}
_NO_RESTART: Final = "no unit restarts"
_STOPPING: Final = frozenset({"restart", "start", "stop", "remove"})


def page(look: FleetLook, width: int) -> Blocks:
    """Return the hosts that change, then those that do not, and the order."""
    if look.changing:
        room = width - _COLUMNS - max(len(host.host) for host in look.changing)
        heads = ("host", "generation", "files", "changes")
        yield table(heads, (_row(host, room) for host in look.changing), right=("files",), whole=heads[:2])
        yield ""
    if same := [host.host for host in look.hosts if not host.differs]:
        yield styled(f"unchanged: {', '.join(same)}", "dim")
    for title, found in (("unreachable", look.unreachable), ("not compared", look.failed)):
        yield from (line((f"{title}: {name}", BAD), f": {reason}") for name, reason in found)
    for host in look.hosts:
        yield from _state(host)
    if look.changing:
        yield line(("order: ", "bold"), order(look.batches))
    if look.retired:
        yield f"retired: {', '.join(look.retired)}: what sparkiac put there is removed at the end"


def _state(host: HostLook) -> Iterator[Line]:
    """Return who has the lease of a host, and which of its servers do not work."""
    if host.lease:
        title = ("takes over", "yellow") if host.lease.free else ("in use", BAD)
        yield line((f"{title[0]}: {host.host}", title[1]), f": {holder(host.lease)}")
    yield from (line((f"does not work: {host.host}", BAD), f": {fault}") for fault in host.faults)


def order(batches: Sequence[Sequence[str]]) -> str:
    """Return the order of the rollout, such as `spark-01, then spark-02 and spark-03 together`."""
    return ", then ".join(names(batch) + (" together" if len(batch) > 1 else "") for batch in batches)


def holder(lease: Lease) -> str:
    """Return who has the lease of a host, in which step the apply is or ended, and what to do."""
    if lease.ended:
        said = f"{lease.owner} has ended in the step {lease.step}, {duration(lease.renewed_s)} ago"
        return said if lease.free else f"{said}; --take-over takes its lease"
    return f"{lease.owner} has been applying for {duration(lease.age_s)}, step {lease.step}"


def data(look: FleetLook) -> Data:
    """Return {"hosts": [{host, now, new, differs, files, …}], "unreachable": {…}, …}."""
    return {
        "hosts": plain(look.hosts),
        "unreachable": dict(look.unreachable),
        "failed": dict(look.failed),
        "batches": look.batches,
        "retired": look.retired,
    }


def deeds(said: Mapping[str, Sequence[str]]) -> Blocks:
    """Return what is done on hosts; hosts on which it is the same are named together."""
    same: dict[tuple[str, ...], list[str]] = {}
    for host, lines in sorted(said.items()):
        same.setdefault(tuple(lines), []).append(host)
    for lines, hosts in same.items():
        yield styled(", ".join(hosts), "bold")
        yield grid((each,) for each in lines)


def states(listed: Sequence[FleetState], subjects: Mapping[str, str | None]) -> Blocks:
    """Return the states of the fleet; `subjects`: state → first line of the message of its commit, if it is known."""
    heads = ("when", "state", "change", "result", "hosts")
    if listed:
        yield table(heads, (_state_row(each, subjects.get(each.name)) for each in listed), whole=heads[:2])
    else:
        yield "These hosts remember no apply."


def _state_row(state: FleetState, subject: str | None) -> Row:
    units = ", ".join(each.replace(_UNIT, "") for each in state.changes) or "no unit restarted"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.time))
    refused = [host for host, outcome in state.outcomes.items() if outcome != COMMITTED]
    result = ["runs" if state.runs else "committed"] if state.generations else []
    result += [f"refused on {few(refused)}"] if refused else []
    result += [f"not kept on {few(state.lost)}"] if state.lost and state.generations else []
    return when, state.name[:_SHORT_STATE], subject or units, ", ".join(result), few(list(state.outcomes))


def few(hosts: Sequence[str]) -> str:
    """Return the names of a few hosts, or the number of many."""
    return names(hosts) if len(hosts) <= _NAMED else counted(len(hosts), "host")


def _row(host: HostLook, room: int) -> Row:
    now, new = "none" if host.now is None else host.now[:_SHORT], host.new[:_SHORT]
    return host.host, f"{now} → {new}" if now != new else now, str(len(host.files)), _changes(host, room)


def _changes(host: HostLook, room: int) -> Line:
    lines = [_effect(each, room) for each in effects(host)]
    if not any(each.action in _STOPPING for each in effects(host)):
        lines.insert(0, ((_NO_RESTART, "dim"),))
    lines += [(each,) for each in host.missing]
    below = (part for each in lines for part in ("\n", *each))
    return line(*list(below)[1:])


def effects(host: HostLook) -> list[Effect]:
    """Return everything that an apply does on a host, without the prefix of units."""
    units = (Effect(step.action, step.unit, step.because) for step in host.units)
    return [each._replace(subject=each.subject.removeprefix(_UNIT)) for each in (*units, *host.effects)]


def _effect(effect: Effect, room: int) -> tuple[str | tuple[str, str], ...]:
    """Return an effect in one line if it fits; otherwise the reason is below it."""
    action = (effect.action, _STYLES.get(effect.action, ""))
    fits = len(effect.action) + 1 + len(effect.subject) + len(_GAP) + len(effect.because) <= room
    return action, f" {effect.subject}", _GAP if fits else f"\n{_GAP}", (effect.because, "dim")
