"""What an apply would change on each host, as a page and as data."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from sparkiac.fleet.looks import FleetLook, FleetState, HostLook, Lease
from sparkiac.host.switch.effects import Effect
from sparkiac.host.switch.history import COMMITTED
from sparkiac.words.page import (
    BAD,
    Blocks,
    Data,
    Line,
    Row,
    counted,
    duration,
    grid,
    line,
    names,
    natural,
    plain,
    ranges,
    runs,
    styled,
    table,
)

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
_NUMBER: Final = re.compile(r"\d+")
_ADDRESS: Final = re.compile(r"\b\d+(?:\.\d+){3}\b")
_VARIOUS: Final = "various"
"""Generations of hosts that are shown together; JSON has each."""
_FIELD: Final = "\t"
"""Between the parts of an effect; texts of hosts have no control characters."""


class AlikeHosts(NamedTuple):
    """Hosts with the same lines, apart from the numbers in their names and in the names of their units."""

    hosts: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        """Their names and their number."""
        named = ranges(self.hosts)
        return named if named == ", ".join(self.hosts) else f"{named} ({len(self.hosts)} hosts)"


def alike(said: Mapping[str, Sequence[str]], own: Mapping[str, Iterable[str]]) -> list[AlikeHosts]:
    """Put hosts with the same lines together; `own` has the names that belong to one host alone.

    In a common line, names that differ in numbers only are a range: `restart chat-01…chat-40`.
    """
    found: dict[object, list[tuple[str, list[list[str]]]]] = {}
    for host in sorted(said, key=natural):
        words = "|".join(map(re.escape, sorted((host, *own.get(host, ())), key=len, reverse=True)))
        pieces = [re.split(rf"(?<!\w)({words})(?![\w-])", text) for text in said[host]]  # each second one is a name
        key = tuple((*text[::2], *(_NUMBER.sub("#", name) for name in text[1::2])) for text in pieces)
        found.setdefault(key, []).append((host, pieces))
    return [
        AlikeHosts(
            tuple(host for host, _ in each), tuple(map(_merged, zip(*(lines for _, lines in each), strict=True)))
        )
        for each in found.values()
    ]


def _merged(pieces: Iterable[Sequence[str]]) -> str:
    """Return the pieces of one line of several hosts as one line."""
    return "".join(ranges(each, "…") for each in zip(*pieces, strict=True))


def page(look: FleetLook, width: int) -> Blocks:
    """Return the hosts that change, then those that do not, and the order."""
    if look.changing:
        yield from _changing(look.changing, width)
        yield ""
    if same := [host.host for host in look.hosts if not host.differs]:
        yield styled(f"unchanged: {ranges(sorted(same, key=natural))}", "dim")
    for title, style, said in _notes(look):
        own = {host: _ADDRESS.findall(text) for host, [text, *_] in said.items()}
        yield from (
            line((f"{title}: {each.title}", style), f": {text}") for each in alike(said, own) for text in each.lines
        )
    if look.changing:
        yield line(("order: ", "bold"), order(look.batches))
    if look.retired:
        yield f"retired: {', '.join(look.retired)}: what sparkiac put there is removed at the end"


def _notes(look: FleetLook) -> Iterator[tuple[str, str, dict[str, Sequence[str]]]]:
    """Yield title, style and lines of hosts that are not compared, are in use, or have a server that does not work."""
    yield "unreachable", BAD, {host: [reason] for host, reason in look.unreachable}
    yield "not compared", BAD, {host: [reason] for host, reason in look.failed}
    for title, style, free in (("takes over", "yellow", True), ("in use", BAD, False)):
        yield (
            title,
            style,
            {each.host: [holder(each.lease)] for each in look.hosts if each.lease and each.lease.free == free},
        )
    yield "does not work", BAD, {host.host: host.faults for host in look.hosts if host.faults}


def order(batches: Sequence[Sequence[str]]) -> str:
    """Return the order of the rollout, such as `spark-01, then spark-02 and spark-03 together`."""
    parts: list[str] = []
    for alone, found in groupby(batches, lambda batch: len(batch) == 1):
        if alone:
            parts += (ranges(run) + " one after the other" * (len(run) > 1) for run in runs(host for [host] in found))
        else:
            parts += (f"{names(ranges(batch).split(', '))} together" for batch in found)
    return ", then ".join(parts)


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


def deeds(said: Mapping[str, Sequence[str]], own: Mapping[str, Iterable[str]] | None = None) -> Blocks:
    """Return what is said of hosts; hosts of which the same is said are named together."""
    for each in alike(said, own or {}):
        yield styled(each.title, "bold")
        yield grid((text,) for text in each.lines)


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


def _changing(hosts: Sequence[HostLook], width: int) -> Blocks:
    """Return the table of the hosts that change."""
    found = {host.host: host for host in hosts}
    groups = alike(
        {name: _said(host) for name, host in found.items()}, {name: units(host) for name, host in found.items()}
    )
    titles = [each.title.replace(", ", ",\n").replace(" (", "\n(") for each in groups]
    room = width - _COLUMNS - max(len(text) for title in titles for text in title.splitlines())
    rows = (
        (title, _generation([found[host] for host in each.hosts]), each.lines[0], _changes(each.lines[1:], room))
        for title, each in zip(titles, groups, strict=True)
    )
    heads = ("host", "generation", "files", "changes")
    yield table(heads, rows, right=("files",), whole=heads[:2])


def _said(host: HostLook) -> list[str]:
    """Return the number of files that change, each effect, and what is missing."""
    return [str(len(host.files)), *map(_FIELD.join, effects(host)), *host.missing]


def _generation(hosts: Iterable[HostLook]) -> str:
    found = {("none" if host.now is None else host.now[:_SHORT], host.new[:_SHORT]) for host in hosts}
    if len(found) > 1:
        return _VARIOUS
    [(now, new)] = found
    return f"{now} → {new}" if now != new else now


def _changes(said: Iterable[str], room: int) -> Line:
    done = [Effect(*parts) for text in said if len(parts := text.split(_FIELD)) == len(Effect._fields)]
    lines = [_effect(each, room) for each in done]
    if not any(each.action in _STOPPING for each in done):
        lines.insert(0, ((_NO_RESTART, "dim"),))
    lines += [(text,) for text in said if _FIELD not in text]
    below = (part for each in lines for part in ("\n", *each))
    return line(*list(below)[1:])


def units(host: HostLook) -> list[str]:
    """Return the units of a host that change, without their prefix."""
    return [step.unit.removeprefix(_UNIT) for step in host.units]


def effects(host: HostLook) -> list[Effect]:
    """Return everything that an apply does on a host, without the prefix of units."""
    steps = (Effect(step.action, step.unit, step.because) for step in host.units)
    return [each._replace(subject=each.subject.removeprefix(_UNIT)) for each in (*steps, *host.effects)]


def _effect(effect: Effect, room: int) -> tuple[str | tuple[str, str], ...]:
    """Return an effect in one line if it fits; otherwise the reason is below it."""
    action = (effect.action, _STYLES.get(effect.action, ""))
    fits = len(effect.action) + 1 + len(effect.subject) + len(_GAP) + len(effect.because) <= room
    return action, f" {effect.subject}", _GAP if fits else f"\n{_GAP}", (effect.because, "dim")
