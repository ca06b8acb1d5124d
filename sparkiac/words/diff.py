"""A comparison of two inventories in words, as text and Markdown, and as data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sparkiac.fleet.looks import FleetLook, HostLook
from sparkiac.report import Finding
from sparkiac.report.characters import escaped_line
from sparkiac.words.apply import alike, effects, order, units
from sparkiac.words.findings import data_of, headline
from sparkiac.words.page import Data, counted, names, plain

_HASH: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28,52}\b")
"""A commit or a hash; text shows its beginning, JSON all of it."""
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>#|~])")
_ACTIONS: Final = ("start", "restart", "stop", "remove")
_SAME: Final = "No difference: an apply changes no host."
_HOST_KEYS: Final = ("host", "differs", "now", "new", "files", "sysctls", "secrets", "units", "effects")
"""Keys of a host in a comparison."""


class PlacedUnit(NamedTuple):
    """A deployment or service that is added, removed or moved."""

    kind: str
    name: str
    before: tuple[str, ...]
    """Hosts that it ran on; empty if it is new."""
    after: tuple[str, ...]
    """Hosts that it will run on; empty if it is removed."""


class MemorySize(NamedTuple):
    """A size in words and in bytes."""

    text: str
    size_bytes: int | None
    """None if unknown."""
    exact: bool
    """Whether all its terms are known; if not, the bytes are a limit: the upper one of what is left free, or else the
    lower one."""


class MemoryChange(NamedTuple):
    """Memory of one container on a host, before and after; None if it does not exist."""

    host: str
    turn: str
    """Turn of the host; empty if it has none."""
    name: str
    """Deployment or service, `system and page cache`, or `left free`."""
    before: MemorySize | None
    after: MemorySize | None


class ValueChange(NamedTuple):
    """A changed image, model, file or option of a deployment or service, or a changed address of a host."""

    name: str
    what: str
    before: str | None
    after: str | None


class FleetDiff(NamedTuple):
    """Everything that differs."""

    old: str
    new: str
    look: FleetLook
    units: tuple[PlacedUnit, ...]
    added: tuple[str, ...]
    """New hosts."""
    dropped: tuple[str, ...]
    """Hosts that are in the new inventory neither as hosts nor as retired hosts."""
    retired: tuple[str, ...]
    """Hosts that an apply will clean, and that were not marked for this before."""
    addresses: tuple[ValueChange, ...]
    memory: tuple[MemoryChange, ...]
    values: tuple[ValueChange, ...]
    new_findings: tuple[Finding, ...]
    gone_findings: tuple[Finding, ...]

    @property
    def any(self) -> bool:
        """Return whether anything differs."""
        hosts = self.look.changing or self.added or self.dropped or self.retired or self.addresses
        return bool(hosts or self.units or self.memory or self.values or self.new_findings or self.gone_findings)


def text(found: FleetDiff) -> str:
    """Return the comparison for a terminal."""
    lines = [f"{found.old} → {found.new}", _summary(found)]
    for title, listed in _sections(found):
        lines += ["", f"{title}:", *(f"  {line}" for line in listed)]
    return "".join(f"{line}\n" for line in map(_shown, lines))


def markdown(found: FleetDiff) -> str:
    """Return the comparison as a comment for a pull request."""
    lines = [f"### {_escaped(found.old)} → {_escaped(found.new)}", "", _escaped(_summary(found))]
    for title, listed in _sections(found):
        lines += ["", f"**{title}**", "", *(f"- {_escaped(line)}" for line in listed)]
    return "".join(f"{line}\n" for line in lines)


def data(found: FleetDiff) -> Data:
    """Return the comparison as plain data; docs/diff.md lists the keys."""
    findings = {name: list(map(data_of, getattr(found, name))) for name in ("new_findings", "gone_findings")}
    shown: Data = plain(found._replace(new_findings=(), gone_findings=()))
    look = shown.pop("look")
    hosts = [{key: host[key] for key in _HOST_KEYS} for host in look["hosts"]]
    return shown | findings | {"differs": found.any, "hosts": hosts, "order": look["batches"]}


def _shown(line: str) -> str:
    return escaped_line(_HASH.sub(r"\1", line))


def _escaped(line: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _shown(line))


def _summary(found: FleetDiff) -> str:
    if not found.any:
        return _SAME
    total = len(found.look.hosts)
    steps = Counter(each.action for look in found.look.hosts for each in effects(look))
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
    said = {look.host: _host(look, new=look.host in found.added) for look in found.look.hosts}
    own = {look.host: units(look) for look in found.look.hosts}
    yield from (f"{each.title}{text}" for each in alike(said, own) for text in each.lines)
    for change in found.addresses:
        yield f"{change.name} is reached at another address: {change.before} → {change.after}"
    for host in found.retired:
        yield f"{host} is retired: an apply removes what sparkiac put there"
    for host in found.dropped:
        yield f"{host} is no longer in the inventory: its units keep running; list it under `retired` to remove them"
    if found.look.changing:
        yield f"order: {order(found.look.batches)}"


def _host(look: HostLook, *, new: bool) -> list[str]:
    """Return what is said of a host, to follow its name."""
    lines = [" is new"] if new else []
    if not look.differs:
        return [*lines, ": unchanged"]
    done = [f": {each.action} {each.subject} ({each.because})" for each in effects(look)]
    return [*lines, *(done or [": no unit restarts; it changes with its group"])]


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
