"""A comparison of two inventories in words, as text and Markdown, and as data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sparkiac.commands.apply.looks import HostLook
from sparkiac.commands.apply.page import names, order
from sparkiac.commands.diff.changes import FleetDiff, MemoryChange, PlacedUnit, ValueChange
from sparkiac.formats.findings import data_of, headline
from sparkiac.formats.terminal import counted
from sparkiac.report.characters import escaped_line

_HASH: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28,52}\b")
"""A commit or a hash; text shows its beginning, JSON all of it."""
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>#|~])")
_ACTIONS: Final = ("start", "restart", "stop")
_UNIT: Final = "sparkiac-"
_SAME: Final = "No difference: an apply changes no host."


def text(found: FleetDiff) -> str:
    """Return the comparison for a terminal."""
    lines = [f"{found.old} → {found.new}", _summary(found)]
    for title, listed in _sections(found):
        lines += ["", f"{title}:", *(f"  {line}" for line in listed)]
    return "".join(f"{line}\n" for line in map(_shown, lines))


def markdown(found: FleetDiff) -> str:
    """Return the comparison as a comment for a pull request."""
    lines = [f"### {_plain_markdown(found.old)} → {_plain_markdown(found.new)}", "", _plain_markdown(_summary(found))]
    for title, listed in _sections(found):
        lines += ["", f"**{title}**", "", *(f"- {_plain_markdown(line)}" for line in listed)]
    return "".join(f"{line}\n" for line in lines)


def data(found: FleetDiff) -> dict[str, Any]:
    """Return the comparison as plain data; docs/diff.md lists the keys."""
    return {
        "old": found.old,
        "new": found.new,
        "differs": found.any,
        "hosts": [_host_data(look) for look in found.look.hosts],
        "order": found.look.batches,
        "added": found.added,
        "dropped": found.dropped,
        "retired": found.retired,
        "addresses": [change._asdict() for change in found.addresses],
        "units": [unit._asdict() for unit in found.units],
        "memory": [_memory_data(change) for change in found.memory],
        "values": [change._asdict() for change in found.values],
        "new_findings": [data_of(finding) for finding in found.new_findings],
        "gone_findings": [data_of(finding) for finding in found.gone_findings],
    }


def _shown(line: str) -> str:
    return escaped_line(_HASH.sub(r"\1", line))


def _plain_markdown(line: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _shown(line))


def _host_data(look: HostLook) -> dict[str, Any]:
    parts = {"host": look.host, "differs": look.differs, "now": look.now, "new": look.new}
    parts |= {"files": look.files, "sysctls": look.sysctls, "secrets": look.secrets}
    return parts | {"units": [step._asdict() for step in look.units]}


def _memory_data(change: MemoryChange) -> dict[str, Any]:
    sizes = {"before": change.before, "after": change.after}
    return change._asdict() | {key: size and size._asdict() for key, size in sizes.items()}


def _summary(found: FleetDiff) -> str:
    if not found.any:
        return _SAME
    total = len(found.look.hosts)
    steps = Counter(step.action for look in found.look.hosts for step in look.units)
    changing = f"{len(found.look.changing)} of {counted(total, 'host')} change{'s' if total == 1 else ''}"
    done = [f"{steps[action]} to {action}" for action in _ACTIONS if steps[action]]
    return f"{changing}. Units: {', '.join(done) or 'none restarts'}."


def _sections(found: FleetDiff) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield title and lines of each section that has content; none if nothing differs."""
    if not found.any:
        return
    listed = {
        "Deployments and services": map(_unit, found.units),
        "Hosts": _hosts(found),
        "Memory": _memory(found.memory),
        "Versions and options": map(_value, found.values),
        "New findings": map(headline, found.new_findings),
        "Findings that are gone": map(headline, found.gone_findings),
    }
    yield from ((title, lines) for title, each in listed.items() if (lines := tuple(each)))


def _unit(unit: PlacedUnit) -> str:
    name = f"{unit.kind} {unit.name}"
    if not unit.before:
        return f"{name} is new on {names(unit.after)}"
    if not unit.after:
        return f"{name} is removed from {names(unit.before)}"
    return f"{name} moves from {names(unit.before)} to {names(unit.after)}"


def _hosts(found: FleetDiff) -> Iterator[str]:
    for look in found.look.hosts:
        yield from _host(look, new=look.host in found.added)
    for change in found.addresses:
        yield f"{change.name} is reached at another address: {change.before} → {change.after}"
    for host in found.retired:
        yield f"{host} is retired: an apply removes what sparkiac put there"
    for host in found.dropped:
        yield f"{host} is no longer in the inventory: its units keep running; list it under `retired` to remove them"
    if found.look.changing:
        yield f"order: {order(found.look.batches)}"


def _host(look: HostLook, *, new: bool) -> Iterator[str]:
    if new:
        yield f"{look.host} is new"
    if not look.differs:
        yield f"{look.host}: unchanged"
        return
    for step in look.units:
        yield f"{look.host}: {step.action} {step.unit.removeprefix(_UNIT)} ({step.because})"
    if not look.units:
        why = counted(len(look.files), "changed file") if look.files else "it changes with its group"
        yield f"{look.host}: no unit restarts; {why}"
    for title, values in (("kernel settings change", look.sysctls), ("new secrets are required", look.secrets)):
        if values:
            yield f"{look.host}: {title}: {', '.join(values)}"


def _memory(found: Iterable[MemoryChange]) -> Iterator[str]:
    for change in found:
        where = f"{change.host} in turn {change.turn}" if change.turn else change.host
        sizes = (size and size.text for size in (change.before, change.after))
        yield f"{where}: {change.name} {_arrow(*sizes)}"


def _value(change: ValueChange) -> str:
    return f"{change.name}: {change.what}: {_arrow(change.before, change.after)}"


def _arrow(before: str | None, after: str | None) -> str:
    """Return both values; a value that does not exist is `none`."""
    return f"{'none' if before is None else before} → {'none' if after is None else after}"
