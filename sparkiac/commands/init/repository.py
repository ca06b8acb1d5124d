"""The repository of `sparkiac init`: the text of its inventory, and its files, written all or none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from sparkiac import __version__, catalog
from sparkiac.commands.fabric import draft
from sparkiac.commands.recipes.filling import Filled
from sparkiac.fleet.fabric import FoundLink
from sparkiac.fleet.machine import Machine
from sparkiac.memory.values import GIB
from sparkiac.report import assets
from sparkiac.resolve.catalogued import Catalogued
from sparkiac.words import entries
from sparkiac.write import scratch

_MODELINE: Final = "# yaml-language-server: $schema=../schema/inventory.schema.json\n"
_HEAD: Final = "#\n# `sparkiac recipes list` shows what can be served, `sparkiac plan` what runs where.\n"
_SECRET: Final = "vllm_api_key"  # noqa: S105  the name of one
_KEYED: Final = "its value is never here: `sparkiac secrets new` generates it"
_GATED: Final = "for gated models; put the value into the file of `sparkiac secrets new`, which Git ignores"
_NAMED: Final = "lan needs an IP address of each host, but a host has a name"
_HOSTS: Final = re.compile(r"^hosts:\n(?:(?: .*|#.*|)\n)*?(?=^[a-z]|\Z)", re.MULTILINE)
_TEMPLATE: Final = "templates/init"
WHEEL: Final = f"wheels/sparkiac-{__version__}-py3-none-any.whl"
"""Path in the repository of the wheel that CI installs, if sparkiac was installed from a file or directory."""
_PORT: Final = 8000
_PACKAGE: Final = "sparkiac"


class FleetHost(NamedTuple):
    """A host, with its facts if it was read over ssh."""

    name: str
    address: str
    machine: Machine | None = None
    user: str | None = None
    """Login name of --from-host, if it has one."""
    links: tuple[FoundLink, ...] = ()
    """Direct links, each with an address: those of --link or of the prompt, else those that were found."""


class FleetDraft(NamedTuple):
    """The values from which the inventory is written."""

    name: str
    hosts: tuple[FleetHost, ...]
    user: str | None
    store: str
    token: str | None = None
    """Name of the secret with the token of the model hub, if a recipe needs one."""


class Placement(NamedTuple):
    """A recipe with the hosts that serve it, the leader first, and a model if the recipe has none."""

    chosen: Catalogued
    hosts: tuple[FleetHost, ...]
    model: str | None
    filled: Filled = Filled({}, {})
    """The values that the recipe leaves open."""


def from_recipes(fleet: FleetDraft, placements: Sequence[Placement]) -> str:
    """Return an inventory that serves these recipes."""
    from sparkiac import engines
    from sparkiac.foreign import yamlwrite

    keyed = any(engines.named(each.chosen.recipe.engine).key_variable is not None for each in placements)
    key = {"api_key": {"secret": _SECRET}} if keyed else {}
    named = _is_named([host for each in placements for host in each.hosts])
    user = {"user": fleet.user} if fleet.user else {}
    written = {
        "name": fleet.name,
        "defaults": user | {"model_store": fleet.store, "bind": "lan" if keyed and not named else "loopback"} | key,
        "hosts": {host.name: _host(host, fleet.user) | _copied(host, placements) for host in fleet.hosts},
        "deployments": _deployments(placements),
    }
    written |= {"hub": {"api_key": {"secret": fleet.token}}} if fleet.token else {}
    builds = {name: values for each in placements for name, values in each.filled.builds.items()}
    written |= {"builds": builds} if builds else {}
    comments = _comments(fleet.hosts) | ({("defaults", "api_key"): [_KEYED]} if keyed else {})
    comments |= {("defaults", "bind"): [_NAMED]} if keyed and named else {}
    comments |= {("hub", "api_key"): [_GATED]} if fleet.token else {}
    return _MODELINE + _HEAD + yamlwrite.dump(written, comments)


def _copied(host: FleetHost, placements: Sequence[Placement]) -> dict[str, str]:
    """Return the host to copy images from: a build is in no registry, and the first host of its group makes it."""
    for each in placements:
        if host in each.hosts[1:] and entries.build(each.chosen.values.get("image")) is not None:
            return {"images_from": each.hosts[0].name}
    return {}


def _deployments(placements: Sequence[Placement]) -> dict[str, dict[str, Any]]:
    from sparkiac.foreign.draft import slug, unused

    made: dict[str, dict[str, Any]] = {}
    for chosen, hosts, model, filled in placements:
        recipe, _, variant = chosen.name.partition("#")
        names = tuple(host.name for host in hosts)
        deployment: dict[str, Any] = {"recipe": recipe} | ({"variant": variant} if variant else {})
        deployment |= {"model": model} if model else {}
        deployment["hosts"] = names if len(names) > 1 else names[0]
        deployment |= {} if "port" in chosen.values else {"port": _PORT}
        deployment |= filled.deployment
        made[unused(slug(model or recipe), made)] = deployment
    return made


def from_draft(fleet: FleetDraft, imported: str) -> str:
    """Return the draft of an import with the hosts and the user."""
    from sparkiac.foreign import yamlwrite

    hosts = yamlwrite.dump(
        {"hosts": {host.name: _host(host, fleet.user) for host in fleet.hosts}}, _comments(fleet.hosts)
    )
    text = _HOSTS.sub(lambda _: hosts, imported, count=1)
    lines = f"  user: {fleet.user}\n" if fleet.user else ""
    if _is_named(fleet.hosts[:1]):
        lines += f"  # {_NAMED}\n  bind: loopback\n"
    if lines:
        before = "defaults:\n" if "\ndefaults:\n" in text else "hosts:\n"
        after = f"defaults:\n{lines}" + ("" if before == "defaults:\n" else before)
        text = text.replace(f"\n{before}", f"\n{after}", 1)
    return _MODELINE + text


def _is_named(hosts: Sequence[FleetHost]) -> bool:
    """Return whether a host has a name instead of an IP address: a server can only listen on an IP address."""
    return any(not host.address.replace(".", "").isdigit() for host in hosts)


def _host(host: FleetHost, user: str | None) -> dict[str, Any]:
    machine = host.machine
    values: dict[str, Any] = {"address": host.address}
    if host.user not in {None, user}:
        values["ssh"] = {"user": host.user}
    if machine is not None and machine.memory_bytes is not None:
        total_gib = int(machine.memory_bytes * 10 / GIB) / 10
        values["memory"] = {"total_gib": total_gib}
        platform = catalog.platform_of(machine.gpus[0][0] if machine.gpus else "", total_gib)
        values |= {} if platform == catalog.DEFAULT_PLATFORM else {"platform": platform}
    if machine is not None and machine.gpus:
        values["driver"] = machine.gpus[0][2]
    if host.links:
        values["fabric"] = {"links": [draft.data(link) for link in host.links]}
    return values


def _comments(hosts: Sequence[FleetHost]) -> dict[tuple[str | int, ...], list[str]]:
    measured = {("hosts", host.name): [*_measured(host.machine)] for host in hosts if host.machine is not None}
    proposed = {host.name: ", ".join(link.interface for link in host.links if link.proposed) for host in hosts}
    return measured | {
        ("hosts", name, "fabric"): [f"{interfaces}: {draft.PROPOSED}"]
        for name, interfaces in proposed.items()
        if interfaces
    }


def _measured(machine: Machine) -> Iterator[str]:
    """Return comments with the facts of a machine and the unknown ones."""
    facts = [each for each in (*(gpu[0] for gpu in (machine.gpus or ())[:1]), machine.architecture) if each]
    facts += [f"{disk.free_bytes // GIB} GiB free for {disk.path}" for disk in machine.disks or ()]
    yield f"Measured over ssh: {', '.join(facts)}."
    yield from (f"Unknown: {key}: {reason}" for key, reason in machine.unknown.items())


def write(target: Path, name: str, inventory: str) -> None:
    """Create the repository at `target`, which has none of its files. Raises OSError and then leaves no new file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target if target.exists() else target.parent
    with scratch(beside, name) as folder:
        filled = _filled(folder, name, inventory)
        if target.exists():
            _copy(filled, target)
        else:
            filled.rename(target)


def files(name: str) -> tuple[str, ...]:
    """Return the paths of the repository's files."""
    rendered = {"{{cookiecutter.name}}": name, "{{cookiecutter._dot}}": "."}
    return tuple(
        reduce(lambda path, pair: path.replace(*pair), rendered.items(), each)
        for each, _ in assets.files(f"{_TEMPLATE}/{{{{cookiecutter.name}}}}")
    )


def _filled(folder: Path, name: str, inventory: str) -> Path:
    """Fill the template with cookiecutter's functions: no hook runs, and no file in the home directory is used."""
    from cookiecutter.generate import generate_context, generate_files  # type: ignore[import-untyped]

    from sparkiac.words import inventory_schema

    template = assets.directory("templates") / "init"
    values: Mapping[str, str] = {
        "name": name,
        "_requirement": origin().requirement or f"./{WHEEL}",
        "_inventory": inventory,
        "_ansible": _ansible(name),
        "_schema": inventory_schema.text(inventory_schema.schema()),
    }
    context = generate_context(str(template / "cookiecutter.json"), extra_context=dict(values))
    return Path(generate_files(str(template), context, output_dir=str(folder), accept_hooks=False))


def _ansible(name: str) -> str:
    """Return Ansible's configuration for the top level: that of the generated directory, with its path."""
    own = (assets.directory("templates") / "ansible.cfg").read_text(encoding="utf-8")
    _, _, settings = own.partition("\n")
    settings = settings.replace("inventory = inventory.yml", f"inventory = generated/{name}/inventory.yml")
    return f"# Ansible reads this file if it is started in this directory, as in generated/{name}.\n{settings}"


def _copy(filled: Path, target: Path) -> None:
    """Copy all files to the target; if one cannot be written, remove the copies again."""
    copied: list[Path] = []
    try:
        for path in sorted(filled.rglob("*")):
            copy = target / path.relative_to(filled)
            if path.is_dir() and not copy.is_dir():
                copy.mkdir()
                copied.append(copy)
            elif path.is_file():
                with copy.open("xb") as file:
                    copied.append(copy)
                    file.write(path.read_bytes())
    except BaseException:
        for copy in reversed(copied):
            copy.rmdir() if copy.is_dir() else copy.unlink()
        raise


class UrlOrigin(NamedTuple):
    """The requirement that installs this version elsewhere, or the local path that no other machine has."""

    requirement: str | None
    path: Path | None = None
    """Wheel, or directory with the sources."""


def origin() -> UrlOrigin:
    """Return where the sparkiac that runs came from, as pip and uv record it: CI installs the same."""
    recorded = metadata.distribution(_PACKAGE).read_text("direct_url.json")
    return recorded_origin(json.loads(recorded) if recorded else {})


def recorded_origin(recorded: Mapping[str, Any]) -> UrlOrigin:
    """Return the origin for the content of `direct_url.json`, which an installation from an index lacks."""
    if not recorded:
        return UrlOrigin(f"{_PACKAGE}=={__version__}")
    url = urlsplit(recorded["url"])
    if url.scheme == "file":
        return UrlOrigin(None, Path(unquote(url.path)))
    if found := recorded.get("vcs_info"):
        return UrlOrigin(f"{_PACKAGE} @ {found['vcs']}+{recorded['url']}@{found['commit_id']}")
    digest = recorded.get("archive_info", {}).get("hashes", {}).get("sha256")
    return UrlOrigin(f"{_PACKAGE} @ {recorded['url']}{f'#sha256={digest}' if digest else ''}")
