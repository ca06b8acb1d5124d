"""Inventory, catalog and lock → every value that holds, each with its origin.

Precedence, later wins: engine default < platform < recipe < variant < fragments < what the speculative method needs <
inventory defaults < deployment < one host of it. Names that lead nowhere are findings; nothing after this stage looks
a name up again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.resolve import builds, references, services, stacks, uses, wanted
from sparkiac.resolve.leaves import Leaves, merge, nest

if TYPE_CHECKING:
    from sparkiac.model.inventory import Deployment, Inventory
    from sparkiac.model.lock import Lock
    from sparkiac.report import Finding, Path
    from sparkiac.source import Source


class Resolved(NamedTuple):
    """Everything decided by names and layers.

    `leaves` holds each value at its path: ("hosts", name, …), ("deployments", name, host, …),
    ("services", name, …), ("builds", name, …). `values` is the same as a nested mapping.
    """

    inventory: Source[Inventory]
    lock: Lock | None
    leaves: Leaves
    values: dict[str, Any]
    findings: tuple[Finding, ...]


def resolve(inventory: Source[Inventory], lock: Lock | None) -> Resolved:
    """Resolve a valid inventory. Opens no file but the catalog's."""
    assert inventory.value is not None, "the inventory must be valid"  # noqa: S101  the pipeline's order
    findings = check_names(inventory)
    if findings:
        return Resolved(inventory, lock, {}, {}, findings)
    leaves: Leaves = {}
    for name in inventory.value.hosts:
        leaves |= _at(("hosts", name), merge(*stacks.host(inventory, name)))
    for name, deployment in inventory.value.deployments.items():
        for host in hosts_of(deployment):
            leaves |= _at(("deployments", name, host), merge(*stacks.deployment(inventory, name, host, leaves)))
    for name in inventory.value.services:
        leaves |= _at(("services", name), merge(*stacks.service(inventory, name, leaves)))
    leaves |= builds.resolve(inventory, leaves)
    values = nest(leaves)
    checks = (wanted.check, services.check, builds.check)
    findings = tuple(finding for check in checks for finding in check(inventory, leaves, values))
    return Resolved(inventory, lock, leaves, values, findings)


def check_names(inventory: Source[Inventory]) -> tuple[Finding, ...]:
    """Check the names of an inventory, also of a faulty one: all its faults shall come at once."""
    return (*references.check(inventory.document), *uses.check(inventory.document))


def hosts_of(deployment: Deployment) -> tuple[str, ...]:
    """Give the hosts of a deployment, the leading one first."""
    return (deployment.on,) if isinstance(deployment.on, str) else deployment.on


def _at(base: Path, leaves: Leaves) -> Leaves:
    return {(*base, *path): leaf for path, leaf in leaves.items()}
