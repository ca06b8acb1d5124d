"""What a client is served that asks a model ten times a second."""

from __future__ import annotations

import collections
import shlex
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.asks import NONE, REFUSED, RIGHT, WRONG
from tests.e2e.bed.bed import USER
from tests.e2e.lab import KEY
from tests.e2e.polls import PrintingModule

if TYPE_CHECKING:
    from tests.e2e.bed import Bed


class Asked(NamedTuple):
    """A request: when it was sent, by the clock of this machine, and what came of it."""

    at_s: float
    outcome: str


class Client(PrintingModule):
    """A client of one server for as long as the context lasts, in the network namespace of the control station."""

    def __init__(self, bed: Bed, url: str, model: str) -> None:
        """Ask nothing yet."""
        super().__init__(bed, "tests.e2e.asks", url, model, KEY)
        self.asked: list[Asked] = []

    def take(self, at_s: str, outcome: str) -> None:
        """Keep a request."""
        self.asked.append(Asked(float(at_s), outcome))

    def since(self, at_s: float) -> list[str]:
        """Return what came of the requests since a time."""
        return [each.outcome for each in self.asked if each.at_s >= at_s]

    def last(self, count: int = 5) -> set[str]:
        """Return what came of the last requests."""
        return {each.outcome for each in self.asked[-count:]}

    def told(self, begin_s: float, end_s: float) -> str:
        """Return how many requests of a time had which outcome, as a row of a table."""
        counts = collections.Counter(each.outcome for each in self.asked if begin_s <= each.at_s < end_s)
        return " | ".join(f"{counts[each]:5}" for each in (RIGHT, WRONG, REFUSED, NONE))


class ContainedClient(Client):
    """The same in a container on a host, in which asks.py is a file of the root directory."""

    def __init__(self, bed: Bed, host: str, container: str, *words: str) -> None:
        """Ask nothing yet; `words` are the URL, the model and the version of IP."""
        url, model, version = words
        super().__init__(bed, url, model)
        command = ["sudo", "-n", "docker", "exec", container, "python3", "/asks.py", url, model, KEY, version]
        self.argv = bed.inside(["ssh", *bed.ssh_options, f"{USER}@{bed.hosts[host].address}", shlex.join(command)])
