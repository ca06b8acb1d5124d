"""The batches of a rollout: which hosts an apply changes at the same time, and in which order.

Canary hosts change first, one after the other; a large fleet without them begins with one host. Then come batches of
one host, or of a tenth of a large fleet; the hosts of a group are always a batch of their own. A server changes before
its clients, except if a client is a canary. Hosts that serve the same model name back each other up and are never in
the same batch.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.model.inventory import Rollout
    from sparkiac.plan.order import Together
    from sparkiac.plan.placement import PlacedHost

    Needs: TypeAlias = Mapping[Together, set[Together]]
    Names: TypeAlias = Mapping[str, frozenset[str]]
    """Host → names of the models that its deployments serve."""


_PART = 10
"""Number of batches of a large fleet, unless its inventory sets their size."""


class Play(NamedTuple):
    """Hosts of consecutive batches that one play changes, so many at a time. Any subset of them may have to change."""

    hosts: tuple[str, ...]
    serial: int


class RolloutPlan(NamedTuple):
    """How an apply changes the batches of hosts."""

    canaries: int = 0
    """Number of batches at the beginning that are canaries."""
    plays: tuple[Play, ...] = ()
    pause_s: int = 0
    """Seconds between two batches."""
    on_failure: str = "stop"
    """`stop` leaves hosts on their new generation if a later host fails; `back` returns them to the former one."""


class _RolloutConstraints(NamedTuple):
    """What decides which hosts may change at the same time."""

    needs: Needs
    names: Names
    together: Mapping[str, Together]
    """Host → hosts that change together with it."""


def rollout(wanted: Rollout, needs: Needs, names: Names) -> tuple[tuple[tuple[str, ...], ...], RolloutPlan]:
    """Return the batches of hosts in the order in which they change, and how an apply changes them."""
    fleet = _RolloutConstraints(needs, names, {host: hosts for hosts in needs for host in hosts})
    listed = (wanted.canary,) if isinstance(wanted.canary, str) else wanted.canary
    canaries = {fleet.together[host] for host in listed}
    size = wanted.batch or max(1, len(fleet.together) // _PART)
    if wanted.batch is None and size > 1 and not canaries:
        canaries = {next(_in_order(needs, needs))}
    batches = _Batches(size, fleet)
    for hosts in (*_in_order(canaries, needs), *_in_order(needs.keys() - canaries, needs)):
        batches.add(hosts, alone=len(hosts) > 1 or hosts in canaries)
    found = tuple(map(tuple, batches.found))
    return found, RolloutPlan(len(canaries), tuple(_plays(found, fleet)), wanted.pause_s, wanted.on_failure)


def served_names(placed: Iterable[PlacedHost]) -> dict[str, frozenset[str]]:
    """Return host → names of the models that its deployments serve."""
    models = {host.name: [each for each in host.containers if each.kind == "deployment"] for host in placed}
    return {host: frozenset(name for each in found for name in each.server.served) for host, found in models.items()}


def _in_order(chosen: Iterable[Together], needs: Needs) -> Iterator[Together]:
    """Return these sets of hosts sorted by name, each after those that it needs; of a cycle, the first by name."""
    pending = dict.fromkeys(sorted(chosen))
    missing = {each: needs[each] & pending.keys() for each in pending}
    dependents: dict[Together, list[Together]] = defaultdict(list)
    for each, others in missing.items():
        for other in others:
            dependents[other].append(each)
    ready = [each for each, others in missing.items() if not others]
    while pending:
        each = heappop(ready) if ready else next(iter(pending))
        del pending[each]
        yield each
        for other in dependents[each]:
            missing[other].discard(each)
            if not missing[other] and other in pending:
                heappush(ready, other)


class _Batches:
    """Batches that are being filled."""

    def __init__(self, size: int, fleet: _RolloutConstraints) -> None:
        self.found: list[list[str]] = []
        self._size = size
        self._fleet = fleet
        self._number: dict[str, int] = {}
        """Host → number of its batch."""
        self._after: dict[str, int] = {}
        """Model name → number of the first batch after all hosts that serve it."""
        self._skips: dict[int, int] = {}
        """Number of a full batch → number of the batch to try instead."""

    def add(self, hosts: Together, *, alone: bool) -> None:
        """Add hosts that change together to the first possible batch; to a new one if they must be alone in it."""
        names = {name for host in hosts for name in self._fleet.names[host]}
        before = (self._number.get(host, -1) + 1 for other in self._fleet.needs[hosts] for host in other)
        first = max((0, *before, *(self._after.get(name, 0) for name in names)))
        number = len(self.found) if alone else self._free(first)
        if number == len(self.found):
            self.found.append([])
        self.found[number] += hosts
        if alone or len(self.found[number]) >= self._size:
            self._skips[number] = number + 1
        self._number |= dict.fromkeys(hosts, number)
        self._after |= dict.fromkeys(names, number + 1)

    def _free(self, number: int) -> int:
        """Return the first batch from this one on that is not full; cache it for the full ones before it."""
        full = []
        while number in self._skips:
            full.append(number)
            number = self._skips[number]
        self._skips |= dict.fromkeys(full, number)
        return number


def _plays(batches: Iterable[tuple[str, ...]], fleet: _RolloutConstraints) -> Iterator[Play]:
    """Join consecutive batches into plays.

    Only the hosts that differ take part in a play, and its `serial` counts only these, so that a host can move to an
    earlier batch of the play. Therefore batches are joined only if all of them are single hosts, or if any of their
    hosts may change at the same time.
    """
    play = _OpenPlay(fleet)
    for batch in batches:
        if not play.accepts(batch):
            yield Play(tuple(play.hosts), play.serial)
            play = _OpenPlay(fleet)
        play.add(batch)
    if play.hosts:
        yield Play(tuple(play.hosts), play.serial)


class _OpenPlay:
    """A play to which further batches can be added."""

    def __init__(self, fleet: _RolloutConstraints) -> None:
        self.hosts: dict[str, None] = {}
        self.serial = 0
        self._fleet = fleet
        self._names = set[str]()

    def accepts(self, batch: tuple[str, ...]) -> bool:
        """Return whether hosts of another batch can be added to this one."""
        if not self.hosts:
            return True
        if len(self._fleet.together[batch[0]]) > 1 or len(self._fleet.together[next(iter(self.hosts))]) > 1:
            return False
        return len(batch) == 1 if self.serial == 1 else not any(map(self._conflicts, batch))

    def add(self, batch: tuple[str, ...]) -> None:
        """Add a batch."""
        self.hosts |= dict.fromkeys(batch)
        self.serial = max(self.serial, len(batch))
        self._names.update(*(self._fleet.names[host] for host in batch))

    def _conflicts(self, host: str) -> bool:
        """Return whether a host must not change at the same time as one of the play."""
        needed = (each for hosts in self._fleet.needs[self._fleet.together[host]] for each in hosts)
        return bool(self._fleet.names[host] & self._names) or any(each in self.hosts for each in needed)
