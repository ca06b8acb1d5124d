"""The data of a rule and of its hits."""

from __future__ import annotations

from typing import NamedTuple

from sparkiac.plan import Container, HostPlan
from sparkiac.report import Edit, Path, Severity


class Rule(NamedTuple):
    """A rule's code, severity and sources."""

    code: str
    slug: str
    severity: Severity
    sources: tuple[str, ...]
    since: str
    """First version of sparkiac that has it."""
    waivable: bool = True
    """Whether an inventory may waive its findings."""
    profile: str = ""
    """Smallest profile that includes the rule; empty if it follows from the severity."""
    phase: str = "generate"
    """When it is reported: `generate`, for the inventory; `preflight`, on a host, before anything is changed there;
    `lock`, for the lock and its upstream requests."""


class Hit(NamedTuple):
    """One thing that a rule found."""

    path: Path
    """Its position in the inventory."""
    message: str
    hint: str
    leaf: Path | None = None
    """Path of the resolved value that causes the finding; the finding shows its origin."""
    host: str | None = None
    """The host that it concerns, for the waivers of that host."""
    severity: Severity | None = None
    """Its severity, if it differs from the rule's: a finding that is only likely is not an error."""
    fix: tuple[Edit, ...] = ()
    """Edits of the inventory that fix it, if it can be fixed automatically."""
    inside: Path = ()
    """Keys inside the value at `leaf` that lead to the fault."""
    sources: tuple[str, ...] = ()
    """Its sources, if they differ from the rule's."""
    at_key: bool = False
    """Whether the key is at fault, not its value."""


def rule(
    name: str,
    severity: Severity,
    *sources: str,
    waivable: bool = True,
    profile: str = "",
    phase: str = "generate",
) -> Rule:
    """Return the rule of a module or page, whose name is `<code>_<slug>`."""
    code, _, slug = name.rpartition(".")[2].partition("_")
    return Rule(code.upper(), slug.replace("_", "-"), severity, sources, "0.1.0", waivable, profile, phase)


def hit(  # noqa: PLR0913, PLR0917  the parts of a hit
    host: HostPlan,
    container: Container,
    key: tuple[str, ...],
    message: str,
    hint: str,
    severity: Severity | None = None,
    *,
    fix: tuple[Edit, ...] = (),
) -> Hit:
    """Return a hit at a setting of a container. Unlike its path in the file, a deployment's leaf names the host."""
    entry = container.path if container.kind == "service" else (*container.path, host.name)
    path, leaf = (*container.path, *key), (*entry, *key)
    return Hit(path, message, hint, leaf=leaf, host=host.name, severity=severity, fix=fix)
