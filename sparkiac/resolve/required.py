"""Check that the values that the plan needs exist after the merge and have the right type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any, Final

from sparkiac import engines
from sparkiac.engines import Engine
from sparkiac.model.inventory import Inventory
from sparkiac.report import Finding, Loc, Origin, Path
from sparkiac.resolve.leaves import Leaves
from sparkiac.resolve.references import NEEDED, VALUE, error
from sparkiac.source import Source

TIMEOUTS: Final = tuple(("timeouts", key) for key in ("ready_s", "stop_s", "restart_delay_s", "drain_s", "answer_s"))
_OF_DEPLOYMENT: Final = (
    *(("image",), ("model",), ("bind",), ("port",)),
    *(("container", "ipc"), ("container", "tmp_size_gib"), ("container", "read_only")),
    *TIMEOUTS,
)
_ENDED: Final = {"drop_caches_for_s": "drop_caches_every_s", "read_ahead_for_s": "read_ahead_kib"}
"""Time under `load_memory` → the change that ends after it."""


def check(inventory: Source[Inventory], leaves: Leaves, values: dict[str, Any]) -> Iterator[Finding]:
    """Return a finding for every required value that is missing or has the wrong type."""
    for base, found in _placements(values):
        engine = engines.named(found["engine"])
        if len(values["deployments"][base[1]]) > 1:
            yield from _computed(inventory, leaves, (*base, "set"), engine)
        yield from _executor(inventory, base, engine, alone=len(values["deployments"][base[1]]) == 1)
        yield from missing(inventory, leaves, base, (*_OF_DEPLOYMENT, ("set", engine.port)))
        yield from _engine(inventory, leaves, base, engine)
        yield from store(inventory, base, found, found.get("container", {}).get("mounts", {}))
        yield from _loading(inventory, base, found, values["hosts"][str(base[2])])
        yield from bind(inventory, leaves, base, host=str(base[2]))
        yield from _options(inventory, leaves, (*base, "set"), engine)
        yield from _files(inventory, base, found.get("container", {}).get("files", {}))
        yield from _drafter(inventory, leaves, base, engine)
    if any(path[-1] == "reachable_from" for path in leaves):
        yield from _named_hosts(inventory, values["hosts"])


def _named_hosts(inventory: Source[Inventory], hosts: dict[str, dict[str, Any]]) -> Iterator[Finding]:
    """Find hosts that no list of clients can name."""
    for name, host in hosts.items() if len(hosts) > 1 else ():
        if not is_address(host["address"]):
            message = f"`reachable_from` needs the IP address of {name}, which may use the servers of other hosts"
            yield error(
                NEEDED, message, inventory.document.at_value(("hosts", name, "address")), "write its IP address"
            )


def _placements(values: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for name, hosts in values.get("deployments", {}).items():
        for host, found in hosts.items():
            yield ("deployments", name, host), found


def missing(inventory: Source[Inventory], leaves: Leaves, base: Path, needed: tuple[Path, ...]) -> Iterator[Finding]:
    """Find required values that no layer sets, or that `null` removes."""
    for tail in needed:
        if (*base, *tail) not in leaves:
            key = ".".join(map(str, tail))
            place = inventory.document.at_value((*base[:2], *tail))
            yield error(NEEDED, _unset(base, key), place, f"add `{key}:`")


def _unset(base: Path, key: str) -> str:
    kind = str(base[0]).removesuffix("s")
    return f"{kind} {base[1]} has no {key}: neither the catalog nor the inventory sets it"


def _engine(inventory: Source[Inventory], leaves: Leaves, base: Path, engine: Engine) -> Iterator[Finding]:
    """Find missing keys that the engine requires."""
    for key, why in engine.needs.items():
        if (*base, key) not in leaves:
            message = f"{_unset(base, key)}; {why}"
            yield error(NEEDED, message, inventory.document.at_value((*base[:2], key)), f"add `{key}:`")


def store(
    inventory: Source[Inventory], base: Path, values: dict[str, Any], mounts: dict[str, Any]
) -> Iterator[Finding]:
    """Find mounts of the model store on a host without one, and a read-ahead of its disk."""
    slower = values.get("load_memory", {}).get("read_ahead_kib") is not None
    mounted = slower or any(mount["source"] == "model_store" for mount in mounts.values()) or "model_path" in values
    if "model_store" not in values and mounted:
        uses = "changes the read-ahead of" if slower else "mounts"
        message = f"{base[1]} {uses} the model store, but no model_store is set"
        hint = "add `model_store: /srv/models` to defaults"
        yield error(NEEDED, message, inventory.document.at_key(base[:2]), hint)


def _loading(
    inventory: Source[Inventory], base: Path, values: dict[str, Any], host: dict[str, Any]
) -> Iterator[Finding]:
    """Find times without the change that they end, and kernel settings that apply during a load and also always.

    These settings would count as changed by hand.
    """
    written = inventory.valid.deployments[str(base[1])].load_memory
    for key, needed in _ENDED.items():
        if getattr(written, key, None) is not None and values["load_memory"].get(needed) is None:
            message = f"load_memory.{key} of {base[1]} has no effect without {needed}"
            place = inventory.document.at_value((*base[:2], "load_memory", key))
            yield error(VALUE, message, place, f"add {needed}, or remove {key}")
    always = host.get("sysctl", {})
    for key in (each for each in values.get("load_memory", {}).get("sysctl", {}) if each in always):
        message = f"load_memory of {base[1]} sets {key}, which {base[2]} always sets to {always[key]}"
        place = inventory.document.at_value((*base[:2], "load_memory", "sysctl", key))
        yield error(VALUE, message, place, f"remove one of them: `load_memory: {{sysctl: {{{key}: null}}}}` does so")


def bind(inventory: Source[Inventory], leaves: Leaves, base: Path, *, host: str) -> Iterator[Finding]:
    """Find a `bind` address that the host does not have or that is unknown."""
    own = base[:2] if base[0] == "deployments" else base
    chosen = leaves[*base, "bind"][0] if (*base, "bind") in leaves else None
    address = leaves["hosts", host, "address"][0]
    place = inventory.document.at_value((*own, "bind"))
    if chosen == "lan" and not is_address(address):
        message = f"bind: lan needs an IP address, but the address of {host} is {address!r}"
        yield error(NEEDED, message, place, f"set hosts.{host}.address to an IP address, or use bind: any")
    if chosen == "fabric" and ("hosts", host, "fabric", "links") not in leaves:
        message = f"bind: fabric needs a fabric link, but {host} has none"
        yield error(NEEDED, message, place, f"add hosts.{host}.fabric.links or use bind: lan")


def _options(inventory: Source[Inventory], leaves: Leaves, base: Path, engine: Engine) -> Iterator[Finding]:
    """Find options with values that the plan cannot use; all others are passed to the engine unchecked."""
    share = {engine.memory_share: (_is_share, "a number above 0 and at most 1")} if engine.memory_share else {}
    for option, (accepts, expected) in ({engine.port: (_is_port, "a port number")} | share | _OTHERWISE).items():
        leaf = leaves.get((*base, option))
        if leaf is not None and not accepts(leaf[0]):
            found = "" if accepts is _never else f", not {leaf[0]!r}"
            message = f"set.{option} of {base[1]} must be {expected}{found}"
            hint = _percent(leaf[0]) if accepts is _is_share else ""
            yield error(VALUE, message, _place(inventory, leaf, base, option), hint)


def _percent(given: object) -> str:
    """Return a hint for a share that is written in percent, as 85 or as the text 85%."""
    found = re.fullmatch(r"(\d{0,3}(?:\.\d+)?) ?(%?)", str(given))
    number = float(found[1] or 0) if found else 0
    if isinstance(given, str) and found and not found[2] and _is_share(number):
        return "write it without quotation marks"
    return f"for {number:g} %, write {number / 100:g}" if _is_share(number / 100) else ""


def _computed(inventory: Source[Inventory], leaves: Leaves, base: Path, engine: Engine) -> Iterator[Finding]:
    """Find options of a group that the plan computes from its hosts and a layer sets as well."""
    for option in engine.groups.computed if engine.groups else ():
        leaf = leaves.get((*base, option))
        if leaf is not None and (option, leaf[0]) != ("distributed_executor_backend", "mp"):
            message = f"set.{option} of {base[1]} is computed from the hosts of the group; {leaf[0]!r} would be ignored"
            other = "; `executor: ray` runs it on Ray" if "ray" in _executors(engine) else ""
            hint = f"remove it: the first host under `hosts` leads the group{other}"
            yield error(VALUE, message, _place(inventory, leaf, base, option), hint)


def _executors(engine: Engine) -> tuple[str, ...]:
    return engine.groups.executors if engine.groups else ()


def _executor(inventory: Source[Inventory], base: Path, engine: Engine, *, alone: bool) -> Iterator[Finding]:
    """Find an executor that the engine does not have, or that a deployment on one host does not need."""
    path = (*base[:2], "executor")
    chosen = inventory.valid.deployments[str(base[1])].executor
    if chosen is not None and (alone or chosen not in _executors(engine)):
        why = "it runs on one host" if alone else f"{engine.title} connects the hosts of a group in its own way"
        message = f"executor of {base[1]} has no effect: {why}"
        yield error(VALUE, message, inventory.document.at_value(path), "remove it")


def _place(inventory: Source[Inventory], leaf: tuple[Any, Origin], base: Path, option: str) -> Loc:
    document = inventory.document
    mark = leaf[1].mark if leaf[1].file == document.name else None
    return document.loc(mark) if mark else document.at_value((*base[:2], "set", option))


def _is_port(value: object) -> bool:
    return type(value) is int and 1 <= value <= 65535  # noqa: PLR2004  TCP


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _never(_value: object) -> bool:
    """Accept no value: the inventory has its own key for this option."""
    return False


_OTHERWISE: Final = {
    "speculative_config": (_never, "set with the key `speculative:` instead"),
    "served_model_name": (_never, "set with the key `served_names:` instead"),
}
"""Engine options for which the inventory has a key."""


_DRAFTED: Final = frozenset({"dflash", "draft_model", "eagle", "eagle3"})
"""Methods that need a drafter of their own."""


def _files(inventory: Source[Inventory], base: Path, files: dict[str, Any]) -> Iterator[Finding]:
    """Find required files for which the catalog has no URL."""
    for target, file in files.items():
        if file.get("url") is None:
            path = (*base[:2], "container", "files", target, "url")
            message = f"{base[1]} needs a file at {target}, but no url is set: {file.get('why', '')}"
            hint = f"add container.files: {{{target}: {{url: …}}}}"
            yield error(NEEDED, message.removesuffix(": "), inventory.document.at_value(path), hint)


def _drafter(inventory: Source[Inventory], leaves: Leaves, base: Path, engine: Engine) -> Iterator[Finding]:
    """Find a method that needs a drafter if none is known for the target, or if it would be downloaded."""
    leaf = leaves.get((*base, "speculative"))
    if leaf is None:
        return
    drafter, place = leaf[0].get("model"), inventory.document.at_value((*base[:2], "speculative"))
    if leaf[0]["method"] in _DRAFTED and drafter is None:
        model = leaves[*base, "model"][0] if (*base, "model") in leaves else "no model"
        message = f"the catalog has no drafter of the method {leaf[0]['method']} for {model}"
        yield error(NEEDED, message, place, "set speculative.model; `sparkiac recipes show` lists known drafters")
    if engine.local and drafter is not None and not drafter.startswith("/"):
        message = f"{engine.title} would download the drafter {drafter} of {base[1]} when it starts"
        yield error(NEEDED, message, place, "mount it with container.mounts and set speculative.model to its path")


def is_address(text: str) -> bool:
    """Return whether a text is an IP address and not a name."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
