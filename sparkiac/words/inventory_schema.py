"""JSON Schema of the inventory for editors, with the names that the catalog and an inventory have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from sparkiac import __version__, catalog, engines
from sparkiac.catalog import interfaces
from sparkiac.catalog.interfaces import Interface
from sparkiac.engines.vllm_check.values import OF_OPTION
from sparkiac.model.base import FORMER_HOSTS
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import json_schema
from sparkiac.plan import Container, Plan
from sparkiac.report.hints import ranges

Data = dict[str, Any]

_ID: Final = f"urn:sparkiac:inventory:{__version__}"
_OPTIONS: Final = "VllmOptions"
_SETTERS: Final = ("Defaults", "Deployment", "Settings")


def text(made: Data) -> str:
    """Return the text of a schema file."""
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


def schema() -> Data:
    """Return the schema of every inventory: recipes of the catalog, options and keys of vLLM with their releases.

    Names and options are suggested; others are accepted, because an inventory has recipes of its own, other engines,
    and images with patches.
    """
    made = json_schema(Inventory) | {"$id": _ID}
    classes = made["$defs"]
    fields = classes["Deployment"]["properties"]
    _suggest(fields["recipe"], catalog.recipe_names())
    _suggest(fields["engine"], engines.names())
    _suggest(fields["fragments"]["items"], catalog.fragment_names())
    _suggest(classes["Host"]["properties"]["platform"], catalog.platform_names())
    classes[_OPTIONS] = {"description": "Options of vLLM, with the releases that accept them.", "type": "object"}
    classes[_OPTIONS]["properties"] = _by_release(_accepted)
    own = classes["Speculative"]["properties"]
    _suggest(own["method"], _interface(interfaces.versions()[-1]).speculative_methods)
    classes["Speculative"]["properties"] = _by_release(_of_speculation) | own
    for each in _SETTERS:
        _mapping(classes[each]["properties"]["set"])["$ref"] = f"#/$defs/{_OPTIONS}"
    return made


def schema_of(plan: Plan) -> Data:
    """Return the schema of one inventory: also with its hosts, and only the options of the release of a deployment."""
    made = schema()
    classes = made["$defs"]
    for each in classes.values():
        for key in {"hosts", FORMER_HOSTS} & each.get("properties", {}).keys():
            _suggest_hosts(each["properties"][key], [host.name for host in plan.hosts])
    served = [each for host in plan.hosts for each in host.containers if each.kind == "deployment"]
    named = {each.name: strict for each in served if (strict := _of_release(each)) is not None}
    made["properties"]["deployments"]["properties"] = named
    return made


def _by_release(names: Callable[[Interface], Iterator[tuple[str, Iterable[str]]]]) -> dict[str, Data]:
    """Return the names that the known releases accept, with the releases and the values."""
    known = interfaces.versions()
    accepted: dict[str, list[str]] = {}
    choices: dict[str, Iterable[str]] = {}
    for version in known:
        for name, allowed in names(_interface(version)):
            accepted.setdefault(name, []).append(version)
            choices[name] = allowed
    return {name: _option(ranges(found, known), choices[name]) for name, found in sorted(accepted.items())}


def _option(releases: str, choices: Iterable[str]) -> Data:
    words = sorted(choices)
    return {"description": f"vLLM {releases}"} | ({"anyOf": [{"enum": words}, {}]} if words else {})


def _interface(version: str) -> Interface:
    found = interfaces.interface(version)
    assert found is not None, "it is one of the known releases"  # noqa: S101
    return found


def _accepted(interface: Interface) -> Iterator[tuple[str, Iterable[str]]]:
    """Return each documented name of an option under `set`, with its values if the release lists them."""
    for option in interface.options.values():
        registry = OF_OPTION.get(option.name)
        choices = option.choices or (getattr(interface, registry.field) if registry else ())
        for spelling in (option.name, *option.aliases):
            if spelling.startswith("--"):
                yield spelling.removeprefix("--").replace("-", "_"), choices


def _of_speculation(interface: Interface) -> Iterator[tuple[str, Iterable[str]]]:
    """Return each key of speculation, with its values if the release lists them."""
    owner = interface.options["--speculative-config"].object or ""
    return ((name, key.choices) for name, key in interface.objects[owner].items())


def _of_release(container: Container) -> Data | None:
    """Return what a deployment adds to the schema; None if the options of its image are unknown."""
    release = interfaces.named(container.image.vllm or "") or ""
    interface = container.image.interface or interfaces.interface(release)
    if interface is None:
        return None
    accepted = {name: _option(interface.version, choices) for name, choices in _accepted(interface)}
    patched = {name.partition(".")[0]: _option("with a patch", ()) for name in container.server.extra.options}
    return {"properties": {"set": {"properties": patched | accepted, "additionalProperties": False}}}


def _suggest(field: Data, names: Iterable[str]) -> None:
    """Let editors complete these names; any other value that is accepted today stays accepted."""
    form = next((each for each in field.get("anyOf", ()) if each.get("type") == "string"), field)
    accepted = {key: form.pop(key) for key in ("pattern", "type") if key in form}
    form["anyOf"] = [{"enum": sorted(names)}, accepted]


def _suggest_hosts(field: Data, names: list[str]) -> None:
    _suggest(field, names)
    for each in field["anyOf"]:
        if each.get("type") == "array":
            _suggest(each["items"], names)


def _mapping(field: Data) -> Data:
    found: Data = next(each for each in field["anyOf"] if each.get("type") == "object")
    return found
