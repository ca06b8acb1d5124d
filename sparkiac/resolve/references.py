"""Names of the inventory that must lead somewhere: what resolving checks before it merges layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.hints import nearest
from sparkiac.report import Finding, Loc, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.model.inventory import Deployment, Inventory
    from sparkiac.report import Path
    from sparkiac.source import Source

_UNKNOWN: Final = ("REF001", "unknown-name")
_TWICE: Final = ("REF002", "name-twice")
_NEEDED: Final = ("REF003", "needed")


def check(inventory: Source[Inventory]) -> Iterator[Finding]:
    """Give a finding for every name of the inventory that leads nowhere or is used twice."""
    fleet = inventory.value
    assert fleet is not None  # noqa: S101
    at = inventory.document.at_value
    for name, host in fleet.hosts.items():
        known = {*fleet.platforms, *catalog.platform_names()}
        if host.platform is not None and host.platform not in known:
            yield _unknown("platform", host.platform, known, at(("hosts", name, "platform")))
    yield from _same_machine(inventory)
    for name, deployment in fleet.deployments.items():
        yield from _deployment(inventory, name, deployment)
    for name, service in fleet.services.items():
        if service.on not in fleet.hosts:
            yield _unknown("host", service.on, fleet.hosts, at(("services", name, "on")))
        if name in fleet.deployments:
            line = inventory.document.at_key(("deployments", name)).mark.line
            message = f"{name!r} is a deployment already (line {line}); both would be unit sparkiac-{name}"
            yield _error(_TWICE, message, inventory.document.at_key(("services", name)), "rename one of them")


def _same_machine(inventory: Source[Inventory]) -> Iterator[Finding]:
    """Find two names for one machine: each would undo what the other one did."""
    assert inventory.value is not None  # noqa: S101
    first: dict[tuple[str, int | None], str] = {}
    for name, host in inventory.value.hosts.items():
        other = first.setdefault((host.address, host.ssh.port if host.ssh else None), name)
        if other != name:
            place = inventory.document.at_value(("hosts", name, "address"))
            message = f"{name} and {other} are one machine: both are reached at {host.address}"
            yield _error(_TWICE, message, place, "give each host its own address, or remove one of them")


def _deployment(inventory: Source[Inventory], name: str, deployment: Deployment) -> Iterator[Finding]:
    fleet, at = inventory.value, inventory.document.at_value
    assert fleet is not None  # noqa: S101
    base: Path = ("deployments", name)
    yield from _hosts(inventory, name, deployment)
    known = catalog.recipe(deployment.recipe)
    if known is None or known.value is None:
        yield _unknown("recipe", deployment.recipe, catalog.recipe_names(), at((*base, "recipe")))
        return
    if deployment.variant is not None and deployment.variant not in known.value.variants:
        yield _unknown("variant", deployment.variant, known.value.variants, at((*base, "variant")))
    if known.value.model is None and deployment.model is None:
        message = f"recipe {deployment.recipe} serves any model, and {name} names none"
        hint = "add `model: organisation/name`, as on the model hub"
        yield _error(_NEEDED, message, inventory.document.at_key(base), hint)


def _hosts(inventory: Source[Inventory], name: str, deployment: Deployment) -> Iterator[Finding]:
    fleet, at = inventory.value, inventory.document.at_value
    assert fleet is not None  # noqa: S101
    base: Path = ("deployments", name)
    if isinstance(deployment.on, str):
        chosen = {(*base, "on"): deployment.on}
    else:
        chosen = {(*base, "on", index): host for index, host in enumerate(deployment.on)}
    seen: set[str] = set()
    for path, host in chosen.items():
        if host not in fleet.hosts:
            yield _unknown("host", host, fleet.hosts, at(path))
        elif host in seen:
            yield _error(_TWICE, f"{host} is named twice", at(path), "a group needs different hosts")
        elif len(chosen) > 1 and fleet.hosts[host].fabric is None:
            message = f"{host} has no fabric link, and {name} spans {len(chosen)} hosts"
            yield _error(_NEEDED, message, at(path), f"add hosts.{host}.fabric.links")
        seen.add(host)
    for host in deployment.per_host or {}:
        if host not in chosen.values():
            place = inventory.document.at_key((*base, "per_host", host))
            yield _unknown("host of this deployment", host, chosen.values(), place)


def _unknown(what: str, name: str, known: Iterable[Any], loc: Loc) -> Finding:
    return _error(_UNKNOWN, f"no {what} is called {name!r}", loc, nearest(name, known))


def _error(code: tuple[str, str], message: str, loc: Loc, hint: str) -> Finding:
    return Finding(*code, Severity.ERROR, message, loc, hint)
