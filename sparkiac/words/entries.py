"""Recipes, variants and fragments as plain data, for `--format json`, tables and docs/catalog.md.

Unknown values are left out or null, never zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, get_args

from pydantic import BaseModel

from sparkiac import catalog, engines
from sparkiac.catalog.library import SHIPPED, Library
from sparkiac.engines import Engine, Member, tables
from sparkiac.memory.sharing import Room
from sparkiac.memory.values import GIB, Term, Unknown, known_bytes
from sparkiac.model.catalog import CatalogEntry, UseCase
from sparkiac.model.settings import Serving
from sparkiac.plan import command
from sparkiac.plan.image import image as known_image
from sparkiac.resolve import catalogued, search
from sparkiac.resolve.catalogued import Catalogued
from sparkiac.resolve.leaves import Leaves
from sparkiac.words.page import Data, plain

USE_CASES: Final[tuple[str, ...]] = get_args(UseCase)
ANY_MODEL: Final = "ORGANISATION/NAME"
"""Placeholder for the model of an entry that serves any model."""
_PLACES: Final[dict[str, str | int]] = {
    "image": "registry.example/repository:tag",
    "model": ANY_MODEL,
    "model_file": "FILE.gguf",
    "model_path": "/model",
    "port": 8000,
}
"""Placeholders in a snippet for values that an entry leaves to the inventory."""
_ASKED: Final[Data] = {
    "base": "registry.example/repository:tag",
    "commit": "0" * 40,
    "install": ["python3", "-m", "pip", "install", "."],
    "pull_requests": [{"number": 1, "repository": "https://example.org/repository.git", "commit": "0" * 40}],
    "repository": "https://example.org/repository.git",
}
"""The same for values of a build."""
_PROVENANCE: Final = ("sources", "notes", "measured", "corrections", "not_verified", "findings")
"""Keys that recipe and variant both have: the variant's values come first."""
_NOT_SETTINGS: Final = {"engine", "nodes", "model", "image"}
"""Leaves that are shown above the settings."""


def names(library: Library = SHIPPED) -> tuple[str, ...]:
    """Return the names of all recipes, variants and fragments."""
    return (*catalogued.names(library), *catalog.fragment_names())


def named(name: str, library: Library = SHIPPED) -> Data:
    """Return all facts about the entry of a name from `names`; only names of recipes contain a slash."""
    return entry(catalogued.named(name, library), library) if "/" in name else fragment(name)


def set_aside(library: Library = SHIPPED) -> list[Data]:
    """Return the summaries of all entries that cannot be deployed."""
    return [summary(found, library) for found in catalogued.everything(library) if not found.usable]


def dumped(model: BaseModel) -> Data:
    """Return the values of a model that differ from the default."""
    data: Data = model.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return data


def summary(found: Catalogued, library: Library = SHIPPED) -> Data:
    """Return the values of an entry that lists show."""
    entry, facts = found.entry, found.facts
    return {
        "name": found.name,
        "title": entry.title,
        "file": library.file(found.name),
        "status": found.status,
        "why": entry.why or found.recipe.why,
        "instead": entry.instead or found.recipe.instead,
        "engine": found.recipe.engine,
        "nodes": found.nodes,
        "image": found.values.get("image"),
        "model": found.values.get("model"),
        "quantization": facts.quantization.format if facts.quantization else None,
        "weights": dumped(facts.weights) if facts.weights else {},
        "use_cases": list(found.use_cases),
    }


def room(room: Room | None) -> Data | None:
    """Return the memory of several entries on one machine."""
    if room is None:
        return None
    total, spare = room.host.total_bytes or 0, room.host.headroom_bytes
    return {
        "fits": room.fits,
        "memory_gib": _gib(total),
        "needed_gib": None if isinstance(spare, Unknown) else _gib(total - spare),
        "spare_gib": None if isinstance(spare, Unknown) else _gib(spare),
        "loads": [load(each) for each in room.weights],
        "shares": plain(room.portions),
    }


def load(term: Term) -> Data:
    """Return the memory for the weights of one entry."""
    size = known_bytes(term.size_bytes)
    return {"name": term.name, "gib": None if size is None else _gib(size), "basis": term.source}


def _gib(size_bytes: int) -> float:
    return round(size_bytes / GIB, 3)


def fragment(name: str) -> Data:
    """Return all facts about a fragment."""
    found = catalog.fragment(name)
    assert found is not None and found.value is not None, "the name is known"  # noqa: S101, PT018
    entry = found.value
    leaves = catalogued.of_fragment(name)
    return {
        "kind": "fragment",
        "name": name,
        **{key: getattr(entry, key) for key in ("title", "status", "why", "instead", "engine", "nodes")},
        "needs": list(entry.needs),
        "settings": list(_settings(leaves)),
        **_provenance([("fragment", entry)]),
        "snippet": {"fragments": [*entry.needs, name]} if entry.status in {"recipe", "superseded"} else None,
    }


def entry(found: Catalogued, library: Library = SHIPPED) -> Data:
    """Return all facts about a recipe, or a recipe with its variant."""
    values = found.values
    entries: list[tuple[str, CatalogEntry]] = [("recipe", found.recipe)]
    if found.variant is not None:
        entries.insert(0, ("variant", found.variant))
    drafter = values.get("speculative", {}).get("model")
    return {
        "kind": "variant" if found.variant else "recipe",
        **summary(found, library),
        "evidence": found.entry.evidence,
        "settings": [each for each in _settings(found.leaves) if found.status != "mention" or each["file"]],
        "start": _start(found),
        "speculative": values.get("speculative"),
        "build": build(values.get("image")),
        "drafters": [
            dumped(pair)
            for pair in catalog.drafters()
            if pair.target == values.get("model") or (drafter is not None and pair.drafter == drafter)
        ],
        "facts": dumped(found.facts),
        **_provenance(entries),
        "standing": dumped(catalog.standing()) if found.status != "mention" else None,
        "variants": [_variant(name, library) for name in catalogued.variants(found.name, library)]
        if found.variant is None
        else [],
        "snippet": snippet(found) if found.usable else None,
    }


def build(image: str | None) -> Data | None:
    """Return the facts about the build with the name of an image; None for an image from a registry."""
    found = catalog.build(image) if image in catalog.build_names() else None
    return None if found is None or found.value is None else dumped(found.value)


def _variant(name: str, library: Library) -> Data:
    found = summary(catalogued.named(name, library))
    return {key: found[key] for key in ("name", "title", "status", "why", "instead")}


def _provenance(entries: list[tuple[str, CatalogEntry]]) -> Data:
    """Return the notes, sources and other texts of the entries, each with the kind of its entry."""
    return {
        key: [
            {"of": kind} | (dumped(each) if hasattr(each, "model_dump") else {"text": each})
            for kind, entry in entries
            for each in getattr(entry, key)
        ]
        for key in _PROVENANCE
    }


def _settings(leaves: Leaves) -> Iterator[Data]:
    """Return each effective value with its layer and, if the layer is a file, the line."""
    for path in sorted(leaves, key=lambda path: tuple(map(str, path))):
        value, origin = leaves[path]
        if path[0] not in _NOT_SETTINGS:
            yield {
                "path": [str(part) for part in path],
                "value": value,
                "layer": origin.layer,
                "file": origin.file,
                "line": origin.mark.line if origin.mark else None,
            }


def _start(found: Catalogued) -> Data | None:
    """Return the command after the entrypoint of the image; None if no source prints one."""
    values = {"model": ANY_MODEL, **found.values}
    if "image" not in values or found.status == "mention":
        return None
    engine: Engine = engines.named(found.recipe.engine)
    image = known_image(values["image"], lock=None, mirrors={})
    serving = Serving.model_validate({key: value for key, value in values.items() if key in Serving.model_fields})
    started = command.start(engine, serving, values["set"], commits={})
    at_least = image.tag.vllm_at_least if image.tag else None
    return {
        "prelude": [list(words) for words in values["container"].get("prelude", ())],
        "entrypoint": None if image.entrypoint is None else list(image.entrypoint),
        "words": list(command.words(image, engine, started)),
        "env": dict(started.env),
        "group": _group(found),
        "vllm": image.vllm or (at_least and f"{at_least} or newer"),
    }


def _group(found: Catalogued) -> list[str]:
    """Return the options that differ for each host of a group."""
    if found.nodes == 1:
        return []
    groups = engines.named(found.recipe.engine).groups
    if groups is None:
        return []
    options = groups.part(Member(1, ("127.0.0.1",) * found.nodes, groups.executors[0])).options
    return list(tables.written(dict.fromkeys(options, True)))


def snippet(found: Catalogued) -> Data:
    """Return a deployment to paste into an inventory, with placeholders for open values."""
    recipe, _, variant = found.name.partition("#")
    hosts = [f"spark-{number:02}" for number in range(1, found.nodes + 1)]
    wanted = ("image", "model", *engines.named(found.recipe.engine).needs, "port")
    missing = {key: _PLACES[key] for key in wanted if key not in found.values}
    files = found.values["container"].get("files", {})
    unnamed = {target: {"url": "https://ADDRESS/FILE"} for target, file in files.items() if file.get("url") is None}
    deployment = {
        "recipe": recipe,
        **({"variant": variant} if variant else {}),
        "hosts": hosts[0] if len(hosts) == 1 else hosts,
        **missing,
        **({"container": {"files": unnamed}} if unnamed else {}),
    }
    built = build(found.values.get("image")) or {}
    asked = {key: _ASKED[key] for key in built.get("asks", ())}
    builds = {"builds": {found.values["image"]: asked}} if asked else {}
    return {**builds, "deployments": {_unit(found.name): deployment}}


def _unit(name: str) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", name.partition("/")[2])
    return (stem if stem[0].isalpha() else f"m-{stem}")[:40].rstrip("-")


def hit(found: search.SearchResult, library: Library = SHIPPED) -> Data:
    """Return the values of an entry that a search shows."""
    variants = [each.name for each in found.variants]
    needed = {each.name: needs(each) for each in (found.found, *found.variants) if needs(each)}
    shown = summary(found.found, library) | {"variants": variants, "needs": needed}
    return shown | ({"room": room(found.room)} if found.room else {})


def needs(found: Catalogued) -> dict[str, str]:
    """Return what an inventory must add before `check` accepts an entry, by the code of its error."""
    solved = found.variant.solves if found.variant else ()
    findings = (*found.recipe.findings, *found.entry.findings)
    return {each.code: each.needs for each in findings if each.needs is not None and each.code not in solved}
