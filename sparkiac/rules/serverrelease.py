"""Helpers for rules about SGLang, llama.cpp, TensorRT-LLM and AEON-7's images: the release of a server.

A finding is an error if an upstream tag names a release whose parser was read. For a release between two such
releases, a vendor's or private image or an unknown release it is a warning, and only if no possible release accepts the
option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sparkiac import engines
from sparkiac.engines import Engine, Option
from sparkiac.engines.tables import OptionTable
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, hit

SOURCES: Final = (
    "SGLang's released wheels: server_args.py",
    "llama.cpp's sources: common/arg.cpp",
    "github.com/NVIDIA/TensorRT-LLM: trtllm-serve.rst",
    "github.com/AEON-7/vllm-dflash: README.md",
)
_PRIVATE: Final = re.compile(r"v?(b\d+|\d+\.\d+\.\d+(?:\.?(?:rc|post)\d+)?)(?:[-_+].+)?")


class ServerRelease(NamedTuple):
    """A server and its possible releases."""

    container: Container
    host: HostPlan
    engine: Engine
    table: OptionTable
    releases: tuple[str, ...]
    exact: bool
    """Whether the image contains exactly one known release."""
    title: str

    def takes(self, name: str) -> tuple[Option, ...]:
        """Return the option of this name in each release that has it."""
        found = (self.table.option(name, release) for release in self.releases)
        return tuple(option for option in found if option is not None)

    def elsewhere(self, holds: Callable[[str], bool]) -> str:
        """Return which releases have something, as the end of a sentence; empty if all were checked."""
        if set(self.releases) == set(self.table.releases):
            return ""
        where = self.table.where(holds)
        many = " to " in where or ", " in where
        return f": {where} {'have' if many else 'has'} it" if where else ": no known release has it"

    def hit(self, key: tuple[str, ...], message: str, hint: str) -> Hit:
        """Return a hit at a setting; a warning if the release is not certain."""
        return hit(self.host, self.container, key, message, hint, self.severity)

    @property
    def severity(self) -> Severity | None:
        """The severity of a finding: None, the rule's own, if the release is certain."""
        return None if self.exact else Severity.WARNING


def servers(plan: Plan) -> Iterator[ServerRelease]:
    """Return the servers of engines that have a table of options."""
    for host, container in plan.containers:
        engine = engines.named(container.server.engine)
        if engine.table is not None:
            yield _server(container, host, engine, engine.table)


def _server(container: Container, host: HostPlan, engine: Engine, table: OptionTable) -> ServerRelease:
    found = release(container, engine)
    if not found or table.releases == ("",):
        title = engine.title if table.releases == ("",) else f"any known release of {engine.title}"
        return ServerRelease(container, host, engine, table, table.releases, exact=False, title=title)
    compared = table.neighbours(found)
    title = f"{engine.title} {found}"
    if found not in compared:
        title = f"{title} (compared with {' and '.join(compared)})"
    exact = found in compared and _tagged(container, engine) is not None
    return ServerRelease(container, host, engine, table, compared, exact=exact, title=title)


def release(container: Container, engine: Engine) -> str | None:
    """Return the release of a server by its upstream tag, the lock, or the tag of a private image; None if unknown."""
    locked = container.image.versions.get(engine.name, "").partition("+")[0]
    return _tagged(container, engine) or locked or _of_private(container, engine)


def _of_private(container: Container, engine: Engine) -> str | None:
    """Return the release with which the tag of a private image starts, such as 0.5.8-t5, if its parser was read."""
    repository, _, tag = container.image.short.rpartition(":")
    found = _PRIVATE.fullmatch(tag) if engine.name in repository.rpartition("/")[2] else None
    read = engine.table.releases if engine.table else ()
    return found[1] if found and repository not in engine.images and found[1] in read else None


def _tagged(container: Container, engine: Engine) -> str | None:
    """Return the release in an upstream tag; None if the tag contains none."""
    repository, _, tag = container.image.short.rpartition(":")
    found = re.fullmatch(engine.images.get(repository, "(?!)"), tag)
    return found[1] if found else None
