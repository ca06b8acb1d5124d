"""What sparkiac makes of a catalog entry, read back as facts: by PyYAML, line by line, and word by word."""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from sparkiac import catalog, pipeline
from sparkiac.console import run
from tests.catalog.printed import value_of
from tests.plan.fleets import repositories

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sparkiac.model.catalog import Recipe, Variant
    from tests.catalog.commands import Command
    from tests.catalog.printed import Fact

DEPLOYMENT: Final = "served"
"""Name of the one deployment in each inventory here."""
STORE: Final = "/srv/models"
LEADER: Final = "192.168.177.11"
"""Address of the first host on the link between hosts."""
ENTRYPOINTS: Final[Mapping[str, list[str]]] = {
    "nvcr.io/nvidia/vllm": ["/opt/nvidia/nvidia_entrypoint.sh"],
    "vllm/vllm-openai": ["vllm", "serve"],
}
"""What the Spark guide says of the two families (L98-100), as a registry has it. Builds here have none."""
PINNED: Final = ("words", "pinned")
"""That the command names the commit of its model."""
VALUED: Final = {"After", "Type", "User", "Restart", "RestartSec", "TimeoutStartSec", "TimeoutStopSec"}
"""Directives whose value is compared; of the others only that they are there, since they have tests of their own."""


class Seen(NamedTuple):
    """One host's files, as facts."""

    facts: frozenset[Fact]
    argv: tuple[str, ...]
    """All words that are executed, from the image's entrypoint on."""


def entries(name: str) -> Iterator[Recipe | Variant]:
    """Yield the recipe of `vendor/name` or `vendor/name#variant`, and its variant."""
    recipe, _, variant = name.partition("#")
    for found in (catalog.recipe(recipe), catalog.variant(recipe, variant) if variant else None):
        if found is not None and found.value is not None:
            yield found.value


def render(command: Command, folder: Path) -> list[Seen]:
    """Render a command's entry on reference hosts, by the real command."""
    names = [f"spark-{number:02}" for number in range(1, command.hosts + 1)]
    inventory = inventory_of(command, names)
    lock = lock_of(command, inventory)
    (folder / "reference.yaml").write_text(as_yaml(inventory))
    (folder / "reference.lock.yaml").write_text(as_yaml(lock))
    assert run(["generate", str(folder / "reference.yaml"), "--output", str(folder / "out")]) == 0
    return [seen(folder / "out" / "hosts" / host / "etc", lock) for host in names]


def inventory_of(command: Command, hosts: list[str]) -> dict[str, Any]:
    """Write an inventory of one deployment, on one Spark or on several that are linked."""
    assert list(entries(command.entry)), f"the catalog has no {command.entry}"
    recipe, _, variant = command.entry.partition("#")
    deployment = {"recipe": recipe, "hosts": hosts if len(hosts) > 1 else hosts[0]}
    return {
        "name": "reference",
        "defaults": {"model_store": STORE, "bind": "fabric" if len(hosts) > 1 else "loopback"},
        "hosts": {host: machine(number) for number, host in enumerate(hosts, start=1)},
        "deployments": {DEPLOYMENT: deployment | ({"variant": variant} if variant else {}) | dict(command.says)},
        "builds": dict(command.builds),
    }


def machine(number: int) -> dict[str, Any]:
    """Describe a reference host."""
    link = {"interface": "enp1s0f1np1", "hca": "rocep1s0f1", "address": f"192.168.177.1{number}/24"}
    return {
        "address": f"192.168.1.1{number}",
        "memory": {"total_gib": 119},
        "driver": "580.142",
        "fabric": {"links": [link]},
    }


def lock_of(command: Command, inventory: dict[str, Any]) -> dict[str, Any]:
    """Pin the entry's image, models and extra files, and what its build starts from and gives."""
    [*_, image] = [entry.image for entry in entries(command.entry) if entry.image]
    files = [
        file.url
        for entry in entries(command.entry)
        for file in ((entry.container.files if entry.container else None) or {}).values()
        if file is not None and file.url is not None
    ]
    images = [build["base"] for build in command.builds.values() if "base" in build]
    images += [image] if image not in command.builds else []
    lock = {
        "version": 1,
        "images": {image: pin(image, digest="digest") for image in images},
        "files": {url: {"sha256": sha256(url)} for url in files},
    }
    outcome = pipeline.check(
        pipeline.InputFile("reference.yaml", as_yaml(inventory).encode()),
        pipeline.InputFile("lock", as_yaml(lock).encode()),
    )
    built = outcome.plan.builds if outcome.plan else ()
    return lock | {
        "builds": {build.name: pin(build.name, digest="id") | {"spec": build.digest} for build in built},
        "models": {}
        if outcome.plan is None
        else {name: {"commit": commit(name)} for name in repositories(outcome.plan)},
    }


def pin(image: str, *, digest: str) -> dict[str, Any]:
    """Pin one image of which a registry tells the entrypoint, or nothing."""
    entrypoint = [] if digest == "id" else ENTRYPOINTS.get(image.partition(":")[0])
    return {digest: f"sha256:{sha256(image)}"} | ({} if entrypoint is None else {"entrypoint": entrypoint})


def as_yaml(data: dict[str, Any]) -> str:
    """Write YAML as a user would."""
    return yaml.safe_dump(data, sort_keys=False)


def commit(name: str) -> str:
    """Return a commit that no other repository here has."""
    return sha256(name)[:40]


def sha256(text: str) -> str:
    """Return 64 digits that no other text here has."""
    return hashlib.sha256(text.encode()).hexdigest()


def seen(root: Path, lock: dict[str, Any]) -> Seen:
    """Read one host's unit and compose file."""
    unit = (root / f"systemd/system/sparkiac-{DEPLOYMENT}.service").read_text()
    project = unescaped(yaml.safe_load((root / f"sparkiac/{DEPLOYMENT}/compose.yaml").read_text()))
    [server] = project["services"].values()
    server["name"] = project["name"]
    pinned = {pin["digest"]: (name, pin.get("entrypoint", [])) for name, pin in lock["images"].items()}
    pinned |= {pin["id"]: (name, pin["entrypoint"]) for name, pin in lock["builds"].items()}
    image, entrypoint = pinned[server.pop("image").rpartition("@")[2]]
    files = {pin["sha256"]: url for url, pin in lock["files"].items()}
    own, command = server.pop("entrypoint", None), server.pop("command", [])
    pins = {pin["commit"] for pin in lock["models"].values()}
    facts = {("image", image), ("container", "digest"), *of_unit(unit), *of_environment(server.pop("environment"))}
    facts |= {
        *of_entrypoint(own),
        *of_command(command, pins),
        *of_mounts(server.pop("volumes"), files),
        *of_server(server),
    }
    return Seen(frozenset(facts), (*(own[4:] if own else entrypoint), *command))


def unescaped(value: Any) -> Any:  # noqa: ANN401  a tree of YAML
    """Take compose's own escaping away: it reads `$$` as `$`."""
    if isinstance(value, str):
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [unescaped(item) for item in value]
    return {key: unescaped(item) for key, item in value.items()} if isinstance(value, dict) else value


def of_unit(text: str) -> Iterator[Fact]:
    """Read a unit's directives and start steps."""
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if not separator or key.startswith("#") or key in {"Description", "ExecStart"}:
            continue
        if key == "ExecStartPre":
            yield ("start step", value.split()[0])
        elif key in VALUED:
            yield from (("unit", key, word) for word in value.split())
        else:
            yield ("unit", key)


def of_environment(variables: dict[str, str]) -> Iterator[Fact]:
    """Read the container's variables."""
    yield from (("env", key, value) for key, value in variables.items())


def of_entrypoint(words: list[str] | None) -> Iterator[Fact]:
    """Read what runs before the server."""
    if words is None:
        return
    yield ("container", "entrypoint", words[0])
    first, *commands, last = words[2].split("; ")
    assert (first, last, words[3]) == ("set -eu", 'exec "$@"', "sh")
    yield from (("before", " ".join(shlex.split(command))) for command in commands)


def of_command(words: list[str], pins: set[str]) -> Iterator[Fact]:
    """Read the words after the image's entrypoint as the engine would: a model, then options with their values.

    The commits of the lock are one fact, wherever they stand.
    """
    if words[:2] == ["vllm", "serve"]:
        yield ("words", "vllm serve")
        words = words[2:]
    if words:
        yield ("model", words[0])
    options: list[tuple[str, list[str]]] = []
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            options.append((name.removeprefix("--"), [value] if equals else []))
        else:
            options[-1][1].append(word)
    for name, values in options:
        read = [from_text(value) for value in values]
        if len(read) == 1 and isinstance(read[0], dict) and read[0].get("revision") in pins:
            del read[0]["revision"]
        if pins & set(values):
            yield PINNED
            continue
        yield ("flag", name, value_of(True if not read else read[0] if len(read) == 1 else read))


def from_text(value: str) -> object:
    """Read a value as JSON if it is some."""
    try:
        found: object = json.loads(value)
    except json.JSONDecodeError:
        return value
    return found


def of_mounts(volumes: list[dict[str, Any]], files: dict[str, str]) -> Iterator[Fact]:
    """Read mounts, by the address of what was fetched and without the cache's key; a repository is in its store."""
    for volume in volumes:
        target, source = volume["target"], volume["source"]
        source = "/var/cache/sparkiac" if target == "/cache" else source
        folder = "/".join(target.split("/")[-2:])
        if source.endswith(f"/{folder}"):
            target, source = target.removesuffix(f"/{folder}"), source.removesuffix(f"/{folder}")
            yield ("store only", folder.removeprefix("hub/models--").replace("--", "/"))
        fetched = [url for digest, url in files.items() if f"/{digest}/" in source]
        yield ("mount", target, *(fetched or [source]))
        if volume.get("read_only"):
            yield ("read-only", target)


def of_server(server: dict[str, Any]) -> Iterator[Fact]:
    """Read the rest of a compose service: what has a value in a `docker run`, and the names of all other keys."""
    for port in server.pop("ports", []):
        yield ("port", port["published"], str(port["target"]))
        yield ("bind", port["host_ip"])
    yield from (("ulimit", key, str(value)) for key, value in server.pop("ulimits", {}).items())
    for device in server.pop("deploy")["resources"]["reservations"]["devices"]:
        yield ("container", "gpus", device["count"])
    yield from (("container", "device", device) for device in server.pop("devices", []))
    if "network_mode" in server:
        yield ("container", "network", server.pop("network_mode"))
    if "shm_size" in server:
        yield ("container", "shm-size", str(server.pop("shm_size")))
    yield ("container", "read_only", value_of(server.pop("read_only")))
    valued = server.keys() & {"name", "ipc", "restart", "pull_policy"}
    yield from (("container", key, server.pop(key)) for key in valued)
    yield from (("container", key) for key in server)
