"""What the rules about vLLM's interface have in common: the release in an image, and what it finds in a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.catalog import interfaces
from sparkiac.engines import vllm_check
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.engines.vllm_check import Fault
    from sparkiac.plan import Container, Plan

SOURCES: Final = ("vLLM's released sources: its parser, its classes of settings, vllm/envs.py",)
_SPECULATION: Final = "speculative_config"


class Release(NamedTuple):
    """A release that an image is checked against."""

    interface: Interface
    exact: bool
    """Whether it is what the image holds, and not only the nearest to that."""
    title: str


def known(container: Container) -> Release | None:
    """Give the release in a container's image; None where nobody knows it.

    Builds of vendors and moving tags hold a release with changes: it is the nearest there is, unless the image itself
    was asked.
    """
    captured = container.image.interface
    if captured is not None:
        return Release(captured, exact=True, title=f"the vLLM {captured.version} of {_tagged(container)}")
    tag = container.image.tag
    if tag is None or tag.vllm is None:
        return None
    version = interfaces.nearest(tag.vllm)
    interface = interfaces.interface(version)
    assert interface is not None, "nearest gives a known release"  # noqa: S101
    exact = version == tag.vllm and tag.provenance == "upstream" and not tag.moving
    title = f"vLLM {version}"
    return Release(interface, exact, title if exact else f"{title} (the release nearest to {_tagged(container)})")


def servers(plan: Plan) -> Iterator[tuple[Container, str]]:
    """Give the containers that run vLLM, with their hosts; of a group the first one, for all have the same options."""
    for host in plan.hosts:
        for container in host.containers:
            if container.server.engine == "vllm" and not (container.server.node and container.server.node[0]):
                yield container, host.name


class Found(NamedTuple):
    """A fault, and the server that has it."""

    fault: Fault
    container: Container
    host: str
    release: Release

    def hit(self, message: str, hint: str, severity: Severity | None = None) -> Hit:
        """Point at the option, or at the method of speculation.

        What was only checked against the nearest release is a warning.
        """
        first = ("speculative",) if self.fault.option == _SPECULATION else ("set", self.fault.option)
        path, leaf = (*self.container.path, *first), (*self.container.path, self.host, *first)
        least = severity or (None if self.release.exact else Severity.WARNING)
        return Hit(path, message, hint, leaf=leaf, host=self.host, severity=least)

    @property
    def name(self) -> str:
        """Write the option with the keys that lead to the fault, and whose it is."""
        first = "speculative" if self.fault.option == _SPECULATION else self.fault.option
        return f"{'.'.join((first, *self.fault.path))} of {self.container.name}"


def faults(plan: Plan, *kinds: str) -> Iterator[Found]:
    """Find faults of these kinds in the containers whose release is known."""
    for container, host in servers(plan):
        release = known(container)
        if release is None:
            continue
        for fault in vllm_check.check(said(container), release.interface):
            if fault.kind in kinds and fault.wrong not in _parsers(container):
                yield Found(fault, container, host, release)


def said(container: Container) -> dict[str, object]:
    """Give the options that are to be checked: those that neither image nor inventory adds to a release."""
    added = container.image.tag.added.options if container.image.tag else ()
    unchecked = {*added, *container.server.extra.options}
    options = {name: value for name, value in container.server.options.items() if name not in unchecked}
    if container.server.speculative is not None:
        options[_SPECULATION] = {key: value for key, value in container.server.speculative.items() if value is not None}
    return options


def having(has: Callable[[Interface], bool]) -> str:
    """Say which of the known releases have something."""
    versions = interfaces.versions()
    found = [version for version in versions if has(_interface(version))]
    if not found:
        return "no known release has it"
    spans: list[list[str]] = []
    for version in found:
        if spans and versions.index(spans[-1][-1]) + 1 == versions.index(version):
            spans[-1].append(version)
        else:
            spans.append([version])
    listed = ", ".join(span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans)
    return f"{listed} {'has' if len(found) == 1 else 'have'} it"


def anywhere(has: Callable[[Interface], bool]) -> bool:
    """Whether any known release has something: the newest are asked first."""
    return any(has(_interface(version)) for version in reversed(interfaces.versions()))


def with_option(name: str) -> Callable[[Interface], bool]:
    """Ask for an option, in the inventory's spelling or its own."""
    spelling = name if name.startswith("-") else f"--{name.replace('_', '-')}"
    return lambda each: spelling in each.spellings


def with_name(registry: str, name: str) -> Callable[[Interface], bool]:
    """Ask for a parser, format, backend or method."""
    return lambda each: name.lower() in {known.lower() for known in getattr(each, registry)}


def with_variable(name: str) -> Callable[[Interface], bool]:
    """Ask for a variable, whether it is declared or only read."""
    return lambda each: name in each.variables or name in each.undeclared_variables


def _tagged(container: Container) -> str:
    return container.image.reference.partition("@")[0]


def _interface(version: str) -> Interface:
    found = interfaces.interface(version)
    assert found is not None, "the release is known"  # noqa: S101
    return found


def _parsers(container: Container) -> tuple[str, ...]:
    return container.image.tag.added.parsers if container.image.tag else ()
