"""Helpers for rules about vLLM's interface: the release in an image, and the faults in a container's options.

The severity of a finding depends on how certain the release is. An upstream release and a captured image are exact. A
vendor's or private build of a release, and a release whose interface is not shipped, are guesses: then a finding is a
warning, and only what all releases refuse that the image may contain is reported. A wrong spelling is no name that a
build adds: it is an error wherever the release is known (ADR 28).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Container as Holding
from typing import Final, NamedTuple

from sparkiac.catalog import interfaces
from sparkiac.catalog.interfaces import Interface
from sparkiac.engines import vllm_check
from sparkiac.engines.vllm_check import Fault
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.report import Severity
from sparkiac.report.hints import ranges, slip_of
from sparkiac.rules.deployments import vllm_leaders
from sparkiac.rules.rule import Hit, hit

SOURCES: Final = ("vLLM's released sources: its parser, its classes of settings, vllm/envs.py",)
_SPECULATION: Final = "speculative_config"
_UPSTREAM: Final = "upstream"
_DIGITS: Final = re.compile(r"\d")
_MILD: Final = frozenset({"short", "deprecated"})
"""Kinds of faults with which the server still starts."""
_OF_NAMES: Final = frozenset({"option", "short", "key", "ignored"})
"""Kinds of faults in a name, not in its value."""


class Release(NamedTuple):
    """The vLLM release, or releases, against which an image is checked."""

    interface: Interface
    """The interface of the release, or of the first possible release."""
    exact: bool
    """Whether the image contains exactly this release."""
    title: str
    others: tuple[str, ...] = ()
    """Other possible releases."""

    def has(self, holds: Callable[[Interface], bool]) -> bool:
        """Return whether it, or one of the other possible releases, has something."""
        return holds(self.interface) or any(holds(_interface(each)) for each in self.others)

    def elsewhere(self, has: Callable[[Interface], bool]) -> str:
        """Return which other releases have something, as the end of a sentence; empty if all were checked."""
        return "" if self.title == _ANY else f": {releases_with(has)}"


_ANY: Final = "any known vLLM release"
_CAPTURE: Final = "`sparkiac images capture` reads the accepted options from the image"


def known(container: Container) -> Release | None:
    """Return the release in a container's image; None if it is unknown."""
    captured, version = container.image.interface, container.image.vllm
    if captured is not None:
        return Release(captured, exact=True, title=f"the vLLM {captured.version} of {_tagged(container)}")
    if version is None:
        return None
    first, *others = interfaces.neighbours(version)
    tag = container.image.tag
    upstream = tag is not None and tag.provenance == _UPSTREAM
    whose = f"vLLM {version}" if upstream else f"vLLM {version} ({_tagged(container)})"
    if interfaces.release(first) != interfaces.release(version):
        *rest, last = first, *others
        compared = f"{', '.join(rest)} and {last}" if rest else last
        return Release(_interface(first), False, f"{whose}, compared with {compared}", (*others,))  # noqa: FBT003
    return Release(_interface(first), exact=upstream and first == version, title=whose)


def variables() -> set[str]:
    """Return the variables of all known releases."""
    return {name for version in interfaces.versions() for name in _interface(version).variables}


def compared_release(container: Container) -> Release:
    """Return the release in a container's image; if it is unknown, all known releases, newest first."""
    newest, *others = reversed(interfaces.versions())
    return known(container) or Release(_interface(newest), exact=False, title=_ANY, others=(*others,))


def servers(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the containers that run vLLM; for a group only its leader."""
    return vllm_leaders(plan.containers)


class ServerFault(NamedTuple):
    """A fault, and the server that has it."""

    fault: Fault
    host: HostPlan
    container: Container
    release: Release

    def hit(self, message: str, hint: str, severity: Severity | None = None, *, anywhere: bool = False) -> Hit:
        """Return a hit at the option's name or value, or at a key inside it.

        It is a warning if the release is not exact, unless it is known and no build has what was written `anywhere`.
        """
        first = ("speculative",) if self.fault.option == _SPECULATION else ("set", self.fault.option)
        if not (self.release.exact or (anywhere and _is_read(self.container.image.vllm))):
            hint, severity = f"{hint}; {_CAPTURE}", severity or Severity.WARNING
        found = hit(self.host, self.container, first, message, hint, severity)
        return found._replace(inside=self.fault.path, at_key=self.fault.kind in _OF_NAMES)

    @property
    def name(self) -> str:
        """The option with the keys that lead to the fault, and the name of its deployment."""
        return f"{'.'.join(_path(self.fault))} of {self.container.name}"


def misspelt(word: str, known: Iterable[str], others: Holding[str]) -> bool:
    """Return whether a word is a wrong spelling: one of `others`, or a slip of a known name, with the same digits.

    Digits tell versions and formats apart: a build can have glm48 beside glm47.
    """
    meant = slip_of(word, known)
    return word in others or (meant is not None and _DIGITS.findall(word) == _DIGITS.findall(meant))


def _is_read(version: str | None) -> bool:
    """Return whether a release is known, and not newer than the newest one whose interface was read."""
    return version is not None and interfaces.release(version) <= interfaces.release(interfaces.versions()[-1])


def faults(plan: Plan) -> Iterator[ServerFault]:
    """Return the faults in all options."""
    for host, container in servers(plan):
        release = compared_release(container)
        for fault in _common(_checked_options(container), release):
            if fault.wrong not in _parsers(container) and not _is_extra(fault, container):
                yield ServerFault(fault, host, container, release)


def _path(fault: Fault) -> tuple[str, ...]:
    """Return the option of a fault, or the key `speculative`, with the keys that lead to it."""
    return ("speculative" if fault.option == _SPECULATION else fault.option, *fault.path)


def _is_extra(fault: Fault, container: Container) -> bool:
    """Return whether `extra_flags` names the option, or one of the keys that lead to the fault."""
    path = _path(fault)
    return any(".".join(path[:length]) in container.server.extra.options for length in range(1, len(path) + 1))


def of_kinds(faults: Iterable[ServerFault], *kinds: str) -> Iterator[ServerFault]:
    """Return the faults of these kinds."""
    return (found for found in faults if found.fault.kind in kinds)


def _common(options: dict[str, object], release: Release) -> tuple[Fault, ...]:
    """Return the faults that all possible releases of the image have in common."""
    found = vllm_check.check(options, release.interface)
    for version in release.others:
        if found:
            others = vllm_check.check(options, _interface(version))
            found = tuple(fault for fault in found if any(_covers(other, fault) for other in others))
    return found


def _covers(other: Fault, fault: Fault) -> bool:
    """Return whether another release refuses the same option, for any reason."""
    about = other.option == fault.option and other.path == fault.path[: len(other.path)]
    return about and (other.kind not in _MILD or fault.kind in _MILD)


def _checked_options(container: Container) -> dict[str, object]:
    """Return the options to check: without those that the image adds to a release."""
    added = container.image.tag.added.options if container.image.tag else ()
    options = {name: value for name, value in container.server.options.items() if name not in added}
    if container.server.speculative is not None:
        options[_SPECULATION] = {key: value for key, value in container.server.speculative.items() if value is not None}
    return options


def releases_with(has: Callable[[Interface], bool]) -> str:
    """Return which known releases pass a test, as the end of a sentence: 0.20.0 and later have it."""
    versions = interfaces.versions()
    found = [version for version in versions if has(_interface(version))]
    return (
        f"{ranges(found, versions)} {'has' if len(found) == 1 else 'have'} it" if found else "no known release has it"
    )


def anywhere(has: Callable[[Interface], bool]) -> bool:
    """Return whether any known release passes a test, such as `with_option`; the newest is tested first."""
    return any(has(_interface(version)) for version in reversed(interfaces.versions()))


def with_option(name: str) -> Callable[[Interface], bool]:
    """Return a test for an option, in the inventory's spelling or vLLM's own."""
    spelling = name if name.startswith("-") else f"--{name.replace('_', '-')}"
    return lambda each: spelling in each.spellings


def with_name(registry: str, name: str) -> Callable[[Interface], bool]:
    """Return a test for a parser, format, backend or method."""
    return lambda each: name.lower() in {known.lower() for known in getattr(each, registry)}


def with_key(owner: str, key: str) -> Callable[[Interface], bool]:
    """Return a test for a key of a class of settings."""
    return lambda each: key in each.objects.get(owner, ())


def with_word(fault: Fault) -> Callable[[Interface], bool]:
    """Return a test for the wrong word of a fault among the choices of its option, or of its key in a JSON option."""

    def has(each: Interface) -> bool:
        spelled = each.options.get(f"--{fault.option.replace('_', '-')}")
        spec = each.objects.get(fault.registry, {}).get(fault.path[-1]) if fault.path else spelled
        return spec is not None and fault.wrong in spec.choices

    return has


def with_variable(name: str) -> Callable[[Interface], bool]:
    """Return a test for a variable, declared or only read."""
    return lambda each: name in each.variables or name in each.undeclared_variables


def _tagged(container: Container) -> str:
    return container.image.reference.partition("@")[0]


def _interface(version: str) -> Interface:
    found = interfaces.interface(version)
    assert found is not None, "the release is known"  # noqa: S101
    return found


def _parsers(container: Container) -> tuple[str, ...]:
    return container.image.tag.added.parsers if container.image.tag else ()
