"""Merge inventory, catalog and lock into resolved values, each with its origin.

Precedence, later wins: engine default < defaults of the speculative method < platform < what a group needs < recipe <
variant < fragments < inventory defaults < deployment < one host of it. Unknown names are findings; no later stage looks
a name up again.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.catalog.library import SHIPPED, Library
from sparkiac.model import resolved
from sparkiac.report.hints import slip_of
from sparkiac.resolve import builds, monitoring, references, required, services, stacks, uses
from sparkiac.resolve.leaves import Leaves, merge, nest
from sparkiac.source.gate import present_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.model.inventory import Deployment, Inventory
    from sparkiac.model.lock import Lock
    from sparkiac.model.records import StartRecord
    from sparkiac.report import Finding, Origin, Path
    from sparkiac.source import Source


class Resolved(NamedTuple):
    """The result of resolving names and merging layers."""

    inventory: Source[Inventory]
    lock: Lock | None
    leaves: Leaves
    """Path → value and origin. Paths start with ("hosts", name), ("deployments", name, host), ("services", name),
    ("monitoring", part) or ("builds", name)."""
    fleet: resolved.ResolvedFleet
    """The same values, typed."""
    interfaces: Mapping[str, Interface] = MappingProxyType({})
    """Digest of an image → the options of its vLLM, captured from the image."""
    records: tuple[StartRecord, ...] = ()
    """Recorded starts beside the inventory."""
    library: Library = SHIPPED
    """The recipes that the inventory can use."""

    @property
    def written(self) -> Inventory:
        """The inventory as the user wrote it."""
        return self.inventory.valid


class Explained(NamedTuple):
    """One resolved value, with the value of each layer."""

    path: str
    """Dotted path; without a host if all hosts of the deployment have the same value."""
    values: tuple[tuple[object, Origin], ...]
    """The value of each layer, lowest first; the last one is used."""


def resolve(
    inventory: Source[Inventory],
    lock: Lock | None,
    interfaces: Mapping[str, Interface] = MappingProxyType({}),
    *,
    library: Library = SHIPPED,
) -> tuple[tuple[Finding, ...], Resolved | None]:
    """Resolve a valid inventory; return None if there are errors. Reads only files of the catalog."""
    # Each check needs the ones before it: layers can be merged only if every name exists.
    findings = check_names(inventory, library)
    if findings:
        return findings, None
    findings = tuple(monitoring.check_parts(inventory))
    if findings:
        return findings, None
    leaves = merged_layers(inventory, library)
    values = nest(leaves)
    checks = (required.check, services.check, monitoring.check, builds.check)
    findings = tuple(finding for check in checks for finding in check(inventory, leaves, values))
    if findings:
        return findings, None
    return (), Resolved(inventory, lock, leaves, resolved.fleet(values), interfaces, library=library)


def merged_layers(inventory: Source[Inventory], library: Library = SHIPPED) -> Leaves:
    """Merge the layers of every host, deployment, service and build. Names must be checked before."""
    written = inventory.valid
    leaves: Leaves = {}
    # Hosts first: the layers of deployments and services contain values of their hosts, such as the model store.
    for name in written.hosts:
        leaves |= _at(("hosts", name), merge(*stacks.host(inventory, name)))
    for name, deployment in written.deployments.items():
        for host in hosts_of(deployment):
            layers = stacks.deployment(inventory, name, host, leaves, library)
            leaves |= _at(("deployments", name, host), merge(*layers))
    for name in written.services:
        leaves |= _at(("services", name), merge(*stacks.service(inventory, name, leaves)))
    leaves |= monitoring.resolve(inventory)
    return leaves | builds.resolve(inventory, leaves)


def check_names(inventory: Source[Inventory], library: Library = SHIPPED) -> tuple[Finding, ...]:
    """Check the names of an inventory, also of an invalid one, so that all findings are shown together."""
    document = inventory.document
    found = (*references.check(document, library), *uses.check_fragments(document, library))
    if any(slip_of(key, ("deployments", "services")) for key in references.unknown_sections(document)):
        return found  # what the misspelt section has is not unknown
    return (*found, *uses.check(document), *uses.check_routes(document), *uses.check_turns(document))


def hosts_of(deployment: Deployment) -> tuple[str, ...]:
    """Return the hosts of a deployment, the leader first."""
    return (deployment.hosts,) if isinstance(deployment.hosts, str) else deployment.hosts


def _at(base: Path, leaves: Leaves) -> Leaves:
    return {(*base, *path): leaf for path, leaf in leaves.items()}


def explain(resolved: Resolved, requested: str) -> tuple[Explained, ...]:
    """Return the values at a path and below it, sorted; empty if there are none.

    A deployment's path may leave its host out: deployments.chat.set.max_model_len.
    """
    *base, key = requested.split(".")
    requested = ".".join((*base, present_name(tuple(base), key)))
    found: dict[str, dict[Path, tuple[tuple[object, Origin], ...]]] = {}
    for path in resolved.leaves:
        if any(_within(each, requested) for each in (_dotted(path), _short(path))):
            values = stacks.history(resolved.inventory, path, resolved.leaves, resolved.library)
            found.setdefault(_short(path), {})[path] = values
    return tuple(each for short in sorted(found) for each in _joined(short, found[short]))


def explained_paths(resolved: Resolved) -> tuple[str, ...]:
    """Return every path that --explain accepts, sorted."""
    return tuple(sorted({_short(path) for path in resolved.leaves}))


def _joined(short: str, found: dict[Path, tuple[tuple[object, Origin], ...]]) -> tuple[Explained, ...]:
    if len({repr(values) for values in found.values()}) == 1:
        return (Explained(short, next(iter(found.values()))),)
    entries = sorted(found.items(), key=lambda item: item[0][:3])
    return tuple(Explained(_dotted(path), values) for path, values in entries)


def _within(path: str, requested: str) -> bool:
    return path == requested or path.startswith(f"{requested}.")


def _short(path: Path) -> str:
    return _dotted((*path[:2], *path[3:]) if path[0] == "deployments" else path)


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
