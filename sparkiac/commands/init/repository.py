"""The repository that `sparkiac init` creates: the text of its inventory, and its files, all or none."""

from __future__ import annotations

import json
import re
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import __version__, assets
from sparkiac.memory.values import GIB
from sparkiac.write import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sparkiac.resolve.catalogued import Catalogued
    from sparkiac.upstream.machine import Machine

_MODELINE: Final = "# yaml-language-server: $schema=../schema/inventory.schema.json\n"
_HEAD: Final = "#\n# `sparkiac recipes list` shows what can be served, `sparkiac plan` what runs where.\n"
_SECRET: Final = "vllm_api_key"  # noqa: S105  the name of one
_KEYED: Final = "its value lies on the hosts and in a vault, never here"
_NAMED: Final = "lan needs a host's address in numbers, and a name stands there"
_HOSTS: Final = re.compile(r"^hosts:\n(?:(?: .*|#.*|)\n)*?(?=^[a-z]|\Z)", re.MULTILINE)
_TEMPLATE: Final = "templates/init"
_PORT: Final = 8000


class NewHost(NamedTuple):
    """A host for the new inventory, with the facts that were read from it."""

    name: str
    address: str
    machine: Machine | None = None
    user: str | None = None
    """Login name for the host, if its facts were read with one."""


class Asked(NamedTuple):
    """The new fleet."""

    name: str
    hosts: tuple[NewHost, ...]
    user: str | None
    store: str


def from_recipe(asked: Asked, chosen: Catalogued, model: str | None) -> str:
    """Return an inventory that serves a recipe, or a model with it, on as many hosts as the recipe needs."""
    from sparkiac import engines
    from sparkiac.importers import naming, yamlwrite

    recipe, _, variant = chosen.name.partition("#")
    keyed = engines.named(chosen.recipe.engine).key_variable is not None
    key = {"api_key": {"secret": _SECRET}} if keyed else {}
    places = [host.name for host in asked.hosts[: chosen.nodes]]
    named = _is_named(asked.hosts[: chosen.nodes])
    deployment: dict[str, Any] = {"recipe": recipe} | ({"variant": variant} if variant else {})
    deployment |= {"model": model} if model else {}
    deployment["on"] = tuple(places) if chosen.nodes > 1 else places[0]
    deployment |= {} if "port" in chosen.values else {"port": _PORT}
    user = {"user": asked.user} if asked.user else {}
    data = {
        "name": asked.name,
        "defaults": user | {"model_store": asked.store, "bind": "lan" if keyed and not named else "loopback"} | key,
        "hosts": {host.name: _host(host, asked.user) for host in asked.hosts},
        "deployments": {naming.slug(model or recipe): deployment},
    }
    comments = _comments(asked.hosts) | ({("defaults", "api_key"): [_KEYED]} if keyed else {})
    comments |= {("defaults", "bind"): [_NAMED]} if keyed and named else {}
    return _MODELINE + _HEAD + yamlwrite.dump(data, comments)


def from_draft(asked: Asked, draft: str) -> str:
    """Return the draft of an import with hosts and user."""
    from sparkiac.importers import yamlwrite

    hosts = yamlwrite.dump(
        {"hosts": {host.name: _host(host, asked.user) for host in asked.hosts}}, _comments(asked.hosts)
    )
    text = _HOSTS.sub(lambda _: hosts, draft, count=1)
    said = f"  user: {asked.user}\n" if asked.user else ""
    if _is_named(asked.hosts[:1]):
        said += f"  # {_NAMED}\n  bind: loopback\n"
    if said:
        before = "defaults:\n" if "\ndefaults:\n" in text else "hosts:\n"
        after = f"defaults:\n{said}" + ("" if before == "defaults:\n" else before)
        text = text.replace(f"\n{before}", f"\n{after}", 1)
    return _MODELINE + text


def _is_named(hosts: Sequence[NewHost]) -> bool:
    """Return whether a host has a name as address: a server can only listen on a numeric address."""
    return any(not host.address.replace(".", "").isdigit() for host in hosts)


def _host(host: NewHost, user: str | None) -> dict[str, Any]:
    machine = host.machine
    data: dict[str, Any] = {"address": host.address}
    if host.user not in {None, user}:
        data["ssh"] = {"user": host.user}
    if machine is None:
        return data
    if machine.memory_bytes is not None:
        data["memory"] = {"total_gib": int(machine.memory_bytes * 10 / GIB) / 10}
    if machine.driver is not None:
        data["driver"] = machine.driver
    if machine.links:
        data["fabric"] = {"links": [link._asdict() for link in machine.links]}
    return data


def _comments(hosts: Sequence[NewHost]) -> dict[tuple[str | int, ...], list[str]]:
    return {("hosts", host.name): [*_measured(host.machine)] for host in hosts if host.machine is not None}


def _measured(machine: Machine) -> Iterator[str]:
    """Return comments with the measured facts, and with the unknown ones."""
    said = [each for each in (machine.gpu, machine.architecture) if each]
    said += [f"{free_bytes // GIB} GiB free for {path}" for path, free_bytes in machine.disks]
    yield f"Measured over ssh: {', '.join(said)}."
    yield from (f"Not known: {key}: {why}" for key, why in machine.unknown)


def write(target: Path, name: str, inventory: str) -> None:
    """Create the repository at `target`, which has none of its files. On OSError nothing was written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target if target.exists() else target.parent
    with scratch(beside, name) as folder:
        made = _filled(folder, name, inventory)
        if target.exists():
            _copy(made, target)
        else:
            made.rename(target)


def files(name: str) -> tuple[str, ...]:
    """Return the paths of all files of a repository."""
    rendered = {"{{cookiecutter.name}}": name, "{{cookiecutter._dot}}": "."}
    return tuple(
        reduce(lambda path, pair: path.replace(*pair), rendered.items(), each)
        for each, _ in assets.files(f"{_TEMPLATE}/{{{{cookiecutter.name}}}}")
    )


def _filled(folder: Path, name: str, inventory: str) -> Path:
    """Render the template with cookiecutter's functions: no hook runs, and the home directory is not used."""
    from cookiecutter.generate import generate_context, generate_files  # type: ignore[import-untyped]

    template = assets.directory("templates") / "init"
    said: Mapping[str, str] = {
        "name": name,
        "_version": __version__,
        "_inventory": inventory,
        "_schema": _schema(),
    }
    context = generate_context(str(template / "cookiecutter.json"), extra_context=dict(said))
    return Path(generate_files(str(template), context, output_dir=str(folder), accept_hooks=False))


def _schema() -> str:
    from sparkiac.model.inventory import Inventory
    from sparkiac.model.schema import json_schema

    return json.dumps(json_schema(Inventory), indent=1, sort_keys=True) + "\n"


def _copy(made: Path, target: Path) -> None:
    """Copy all files; if one cannot be copied, remove those that were."""
    copied: list[Path] = []
    try:
        for path in sorted(made.rglob("*")):
            place = target / path.relative_to(made)
            if path.is_dir() and not place.is_dir():
                place.mkdir()
                copied.append(place)
            elif path.is_file():
                with place.open("xb") as file:
                    copied.append(place)
                    file.write(path.read_bytes())
    except BaseException:
        for place in reversed(copied):
            place.rmdir() if place.is_dir() else place.unlink()
        raise
