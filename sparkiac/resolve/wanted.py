"""Values that the plan needs once all layers are merged: that they are there, and that they can be read."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from sparkiac.report import Finding, Loc, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.model.inventory import Inventory
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves
    from sparkiac.source import Source

_VALUE: Final = ("INV002", "value")
_NEEDED: Final = ("REF003", "needed")
_TIMEOUTS: Final = (("timeouts", "ready_s"), ("timeouts", "stop_s"), ("timeouts", "restart_delay_s"))
_OF_DEPLOYMENT: Final = (
    *(("image",), ("model",), ("bind",), ("set", "port")),
    *(("container", "ipc"), ("container", "tmp_size_gib"), ("container", "read_only")),
    *_TIMEOUTS,
)
_OF_SERVICE: Final = (("bind",), *_TIMEOUTS)


def check(inventory: Source[Inventory], leaves: Leaves, values: dict[str, Any]) -> Iterator[Finding]:
    """Give a finding for every value that something asks for and no layer gives, or gives as another type."""
    for base, found in _placements(values):
        yield from _missing(inventory, leaves, base, _OF_DEPLOYMENT)
        yield from _store(inventory, base, found, found.get("container", {}).get("mounts", {}))
        yield from _bind(inventory, leaves, base, host=str(base[2]))
        yield from _options(inventory, leaves, (*base, "set"))
    for name, found in values.get("services", {}).items():
        base = ("services", name)
        yield from _missing(inventory, leaves, base, _OF_SERVICE)
        yield from _store(inventory, base, found, found.get("mounts", {}))
        if (*base, "port") in leaves:
            yield from _bind(inventory, leaves, base, host=leaves[*base, "on"][0])
        else:
            yield from _portless(inventory, leaves, base)


def _placements(values: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for name, hosts in values.get("deployments", {}).items():
        for host, found in hosts.items():
            yield ("deployments", name, host), found


def _missing(inventory: Source[Inventory], leaves: Leaves, base: Path, needed: tuple[Path, ...]) -> Iterator[Finding]:
    """Find values that no layer gives, or that a `null` takes away."""
    for tail in needed:
        if (*base, *tail) not in leaves:
            key = ".".join(map(str, tail))
            place = inventory.document.at_value((*base[:2], *tail))
            yield _error(_NEEDED, f"no layer gives {base[1]} a value for {key}", place, f"add `{key}:`")


def _store(
    inventory: Source[Inventory], base: Path, values: dict[str, Any], mounts: dict[str, Any]
) -> Iterator[Finding]:
    if "model_store" not in values and any(mount["source"] == "model_store" for mount in mounts.values()):
        message = f"{base[1]} mounts the model store, and nothing says where that is"
        hint = "add `model_store: /srv/models` to defaults"
        yield _error(_NEEDED, message, inventory.document.at_key(base[:2]), hint)


def _bind(inventory: Source[Inventory], leaves: Leaves, base: Path, *, host: str) -> Iterator[Finding]:
    bind = leaves[*base, "bind"][0] if (*base, "bind") in leaves else None
    address = leaves["hosts", host, "address"][0]
    place = inventory.document.at_value((*base[:2], "bind"))
    if bind == "lan" and not _is_ip(address):
        message = f"bind: lan needs an IP address, and {host} is reached as {address!r}"
        yield _error(_NEEDED, message, place, f"write hosts.{host}.address as an IP address, or choose bind: any")
    if bind == "fabric" and ("hosts", host, "fabric", "links") not in leaves:
        message = f"bind: fabric, and {host} has no fabric link"
        yield _error(_NEEDED, message, place, f"add hosts.{host}.fabric.links, or choose bind: lan")


def _options(inventory: Source[Inventory], leaves: Leaves, base: Path) -> Iterator[Finding]:
    """Find options that the plan must read and cannot."""
    document = inventory.document
    for option, (fits, wanted) in _READ.items():
        leaf = leaves.get((*base, option))
        if leaf is not None and not fits(leaf[0]):
            mark = leaf[1].mark if leaf[1].file == document.name else None
            place = document.loc(mark) if mark else document.at_value((*base[:2], "set", option))
            yield _error(_VALUE, f"set.{option} of {base[1]}: {wanted} is wanted", place, "")


def _is_port(value: object) -> bool:
    return type(value) is int and 1 <= value <= 65535  # noqa: PLR2004  TCP


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _is_drafter(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("model", ""), str)


_READ: Final = {
    "port": (_is_port, "a port number"),
    "gpu_memory_utilization": (_is_share, "a number above 0 and at most 1"),
    "speculative_config": (_is_drafter, "a mapping whose `model` is a text"),
}
"""Engine options that the plan reads: everything else is the engine's own."""


def _portless(inventory: Source[Inventory], leaves: Leaves, base: Path) -> Iterator[Finding]:
    """Find what has no effect without a port: a health check that is never asked is worse than none."""
    for key in ("health", "container_port"):
        if (*base, key) in leaves:
            message = f"{base[1]} has a {key} and no port"
            yield _error(_NEEDED, message, inventory.document.at_value((*base, key)), "add `port:`")


def _is_ip(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True


def _error(code: tuple[str, str], message: str, loc: Loc, hint: str) -> Finding:
    return Finding(*code, Severity.ERROR, message, loc, hint)
