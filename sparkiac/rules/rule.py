"""What a rule is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sparkiac.report import Edit, Path, Severity


class Rule(NamedTuple):
    """A rule's name, weight and sources."""

    code: str
    slug: str
    severity: Severity
    sources: tuple[str, ...]
    since: str
    """First version of sparkiac that has it."""
    waivable: bool = True
    """Whether an inventory may allow what the rule refuses."""
    profile: str = ""
    """Smallest profile that has it, if its severity alone would say another one."""
    phase: str = "generate"
    """Where it is found: `generate`, in the inventory; `preflight`, on a host, before anything is changed there;
    `lock`, in the lock or when upstream is asked."""


class Hit(NamedTuple):
    """One thing that a rule found."""

    path: Path
    """Where it shows in the inventory."""
    message: str
    hint: str
    leaf: Path | None = None
    """The resolved value that is at fault, for its origin."""
    host: str | None = None
    """The host that it is about, for that host's waivers."""
    severity: Severity | None = None
    """Its weight, if that is not the rule's: what is only likely is no error."""
    fix: tuple[Edit, ...] = ()
    """What mends it in the inventory, if that is mechanical."""
    inside: Path = ()
    """Keys of the value at `leaf` that lead to the fault."""
    sources: tuple[str, ...] = ()
    """Where it is known from, if that is not all of the rule's sources."""
    at_key: bool = False
    """Whether the key is at fault, and not its value."""
