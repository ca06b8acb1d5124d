"""Catalog entries as plain data: what `--format json` prints, and what tables and docs/catalog.md are made of.

Keys that an entry says nothing about are left out or null; unknown is never a zero.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, get_args

from sparkiac import catalog, engines
from sparkiac.engines import vllm, words
from sparkiac.model.catalog import EngineName, UseCase
from sparkiac.model.settings import Serving
from sparkiac.plan import command
from sparkiac.plan.images import image as known_image
from sparkiac.resolve import catalogued, search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from sparkiac.catalog.fitting import Room
    from sparkiac.engines import Engine
    from sparkiac.model.catalog import CatalogEntry, Fragment
    from sparkiac.resolve.catalogued import Catalogued
    from sparkiac.resolve.leaves import Leaves

USE_CASES: Final[tuple[str, ...]] = get_args(UseCase)
ENGINES: Final[tuple[str, ...]] = get_args(EngineName)
ANY_MODEL: Final = "ORGANISATION/NAME"
"""Stands for the model of an entry that serves any."""
_PLACES: Final[dict[str, str | int]] = {
    "image": "registry.example/repository:tag",
    "model": ANY_MODEL,
    "model_file": "FILE.gguf",
    "model_path": "/model",
    "port": 8000,
}
"""What stands in a snippet for a value that an entry leaves open."""
_ASKED: Final[dict[str, Any]] = {
    "base": "registry.example/repository:tag",
    "commit": "0" * 40,
    "install": ["python3", "-m", "pip", "install", "."],
    "pull_requests": [{"number": 1, "commit": "0" * 40}],
    "repository": "https://example.org/repository.git",
}
"""The same for what a build leaves open."""
_TOLD: Final = ("sources", "notes", "measured", "corrections", "not_verified", "findings")
"""What recipe and variant both tell: the variant's own stands first."""
_NOT_SETTINGS: Final = {"engine", "nodes", "model", "image"}
"""Leaves that have a line of their own above the settings."""


def names() -> tuple[str, ...]:
    """Name all recipes, variants and fragments."""
    return (*catalogued.names(), *catalog.fragment_names())


def named(name: str) -> dict[str, Any]:
    """Give all that is known of an entry that `names` has; only names of recipes hold a slash."""
    return entry(catalogued.named(name)) if "/" in name else fragment(name)


def set_aside() -> list[dict[str, Any]]:
    """Give the summaries of what is not to be deployed."""
    return [summary(found) for found in catalogued.everything() if not found.usable]


def dumped(model: BaseModel) -> dict[str, Any]:
    """Give what a model says, without what it leaves open."""
    data: dict[str, Any] = model.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return data


def summary(found: Catalogued) -> dict[str, Any]:
    """Give what lists show of an entry."""
    entry, facts = found.entry, found.facts
    return {
        "name": found.name,
        "title": entry.title,
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


def room(room: Room | None) -> dict[str, Any] | None:
    """Give the arithmetic of several entries on one machine."""
    if room is None:
        return None
    return {
        "fits": room.fits,
        "memory_gib": room.memory_gib,
        "needed_gib": room.needed_gib,
        "spare_gib": room.spare_gib,
        "loads": [load._asdict() for load in room.loads],
        "shares": [share._asdict() for share in room.shares],
    }


def fragment(name: str) -> dict[str, Any]:
    """Give all that is known of a fragment."""
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
        **_told([("fragment", entry)]),
        "snippet": _fragment_snippet(name, entry) if entry.status in {"recipe", "superseded"} else None,
    }


def _fragment_snippet(name: str, entry: Fragment) -> dict[str, Any]:
    return {"fragments": [*entry.needs, name]}


def entry(found: Catalogued) -> dict[str, Any]:
    """Give all that is known of a recipe, or of a recipe with its variant."""
    values = found.values
    entries: list[tuple[str, CatalogEntry]] = [("recipe", found.recipe)]
    if found.variant is not None:
        entries.insert(0, ("variant", found.variant))
    drafter = values.get("speculative", {}).get("model")
    return {
        "kind": "variant" if found.variant else "recipe",
        **summary(found),
        "settings": [each for each in _settings(found.leaves) if found.status != "mention" or each["file"]],
        "start": _start(found),
        "speculative": values.get("speculative"),
        "build": build(values.get("image")),
        "drafters": [
            dumped(pair)
            for pair in catalog.drafters()
            if pair.target == values.get("model") or _is(pair.drafter, drafter)
        ],
        "facts": dumped(found.facts),
        **_told(entries),
        "standing": dumped(catalog.standing()) if found.status != "mention" else None,
        "variants": [_variant(name) for name in catalogued.variants(found.name)] if found.variant is None else [],
        "snippet": snippet(found) if found.usable else None,
    }


def build(image: str | None) -> dict[str, Any] | None:
    """Give what is known of the build that an image is the name of; None for an image of a registry."""
    found = catalog.build(image) if image in catalog.build_names() else None
    return None if found is None or found.value is None else dumped(found.value)


def _is(drafter: str | None, other: str | None) -> bool:
    return drafter is not None and drafter == other


def _variant(name: str) -> dict[str, Any]:
    found = summary(catalogued.named(name))
    return {key: found[key] for key in ("name", "title", "status", "why", "instead")}


def _told(entries: list[tuple[str, CatalogEntry]]) -> dict[str, Any]:
    """Give what the entries tell, each with the entry that tells it."""
    return {
        key: [
            {"of": kind} | (dumped(each) if hasattr(each, "model_dump") else {"text": each})
            for kind, entry in entries
            for each in getattr(entry, key)
        ]
        for key in _TOLD
    }


def _settings(leaves: Leaves) -> Iterator[dict[str, Any]]:
    """Give each effective value with the layer, and if that is a file, the line that it comes from."""
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


def _start(found: Catalogued) -> dict[str, Any] | None:
    """Give the command as it runs in the image, after its entrypoint; None where no source prints one."""
    values = {"model": ANY_MODEL, **found.values}
    if "image" not in values or found.status == "mention":
        return None
    engine: Engine = engines.named(found.recipe.engine)
    image = known_image(values["image"], lock=None, mirrors={})
    serving = Serving.model_validate({key: value for key, value in values.items() if key in Serving.model_fields})
    started = command.start(engine, serving, values["set"], commits={})
    return {
        "prelude": [list(words) for words in values["container"].get("prelude", ())],
        "entrypoint": None if image.entrypoint is None else list(image.entrypoint),
        "words": list(command.words(image, engine, started)),
        "env": dict(started.env),
        "group": _group(found),
        "vllm": image.vllm or _or_newer(image.tag.vllm_at_least if image.tag else None),
    }


def _or_newer(release: str | None) -> str | None:
    return None if release is None else f"{release} or newer"


def _group(found: Catalogued) -> list[str]:
    """Name the options that each machine of a group gets for itself."""
    if found.nodes == 1:
        return []
    options = {*vllm.group_options(rank=1, size=found.nodes, master=""), "tensor_parallel_size"}
    return list(words.written(dict.fromkeys(options, True)))


def snippet(found: Catalogued) -> dict[str, Any]:
    """Give a deployment to paste into an inventory, with a place for all that the entry leaves open."""
    recipe, _, variant = found.name.partition("#")
    hosts = [f"spark-{number:02}" for number in range(1, found.nodes + 1)]
    wanted = ("image", "model", *engines.named(found.recipe.engine).needs, "port")
    missing = {key: _PLACES[key] for key in wanted if key not in found.values}
    files = found.values["container"].get("files", {})
    unnamed = {target: {"url": "https://ADDRESS/FILE"} for target, file in files.items() if file.get("url") is None}
    deployment = {
        "recipe": recipe,
        **({"variant": variant} if variant else {}),
        "on": hosts[0] if len(hosts) == 1 else hosts,
        **missing,
        **({"container": {"files": unnamed}} if unnamed else {}),
    }
    built = build(found.values.get("image")) or {}
    asked = {key: _ASKED[key] for key in built.get("asks", ())}
    builds = {"builds": {found.values["image"]: asked}} if asked else {}
    return {**builds, "deployments": {_unit(found.name): deployment}}


def _unit(name: str) -> str:
    """Make a unit's name of an entry's name."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.partition("/")[2])
    return (stem if stem[0].isalpha() else f"m-{stem}")[:40].rstrip("-")


def hit(found: search.SearchResult) -> dict[str, Any]:
    """Give what a search shows of an entry."""
    variants = [each.name for each in found.variants]
    refused = {each.name: refusals(each) for each in (found.found, *found.variants) if refusals(each)}
    told = {"variants": variants, "refused": refused}
    return summary(found.found) | told | ({"room": room(found.room)} if found.room else {})


def refusals(found: Catalogued) -> list[str]:
    """Name the errors that `check` finds in an entry as it stands."""
    solved = found.variant.solves if found.variant else ()
    told = (*found.recipe.findings, *found.entry.findings)
    return sorted({each.code for each in told if each.refused and each.code not in solved})
