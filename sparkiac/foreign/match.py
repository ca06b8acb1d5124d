"""Finds the catalog recipe that is closest to a launch, and how the launch differs from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.engines.engine import CACHE, HUB_HOMES
from sparkiac.engines.vllm_check import values
from sparkiac.foreign import mounts, serving
from sparkiac.foreign.launch import Note, corrected, lost
from sparkiac.foreign.server import ServerLaunch
from sparkiac.model import forms, references
from sparkiac.model.catalog import Fragment
from sparkiac.report import Path
from sparkiac.resolve import catalogued
from sparkiac.resolve.leaves import Leaves, constant

_LAYERS: Final = ("recipe ", "variant ", "fragment ")
_OF_SERVER: Final = frozenset({"set", "env", "speculative"})
"""What a recipe sets there and the launch does not, the draft removes; paths there move with the model store."""
_STATUS_PENALTY: Final = {"recipe": 0, "superseded": 2}
_IMAGE_WEIGHT: Final = 2
_MIN_GAIN: Final = 2
"""Number of differences by which a fragment must shorten the draft to be added."""
_WHOLE_TREE: Final = "clients could read every file in the container; the recipe's directory is used"


class Match(NamedTuple):
    """A recipe with its variant and fragments, and what a deployment must set to match the launch."""

    recipe: str | None
    """None if the catalog has no recipe that serves any model with this engine."""
    variant: str | None
    fragments: tuple[str, ...]
    leaves: Leaves
    """What the recipe sets."""
    penalty: int = 0
    differences: Mapping[Path, Any] = {}
    """Path → value of the deployment; None removes the recipe's value."""
    notes: tuple[Note, ...] = ()
    same_model: bool = False
    """Whether the recipe is for the launch's model."""


def find(server: ServerLaunch) -> Match:
    """Find the recipe with the fewest differences: of the same model, or else the engine's base recipe."""
    candidates = tuple(_candidates(server))
    best = min(candidates or (_base(server),), key=lambda entry: _cost(entry, server))
    best = _with_fragments(best, server)
    differences, notes = _differences(best, server)
    return best._replace(differences=differences, notes=tuple(notes), same_model=bool(candidates))


def handle_of(server: ServerLaunch) -> str | None:
    """Return the model handle of a served directory, if the catalog or a served name has one that matches its name."""
    if server.model is not None or server.path is None:
        return server.model
    source = mounts.host_path(server.launch, server.path) or server.path
    parts = [part for part in source.split("/") if part]
    if len(parts) > 1 and parts[-1].endswith(".gguf"):
        parts.pop()
    own = {entry.values["model"] for entry in _entries(server.engine) if "model" in entry.values}
    own |= {name for name in server.leaves.get(("served_names",), ()) if re.fullmatch(forms.HANDLE, name)}
    named = sorted(handle for handle in own if parts and handle.partition("/")[2].lower() == parts[-1].lower())
    return named[0] if named else None


def _candidates(server: ServerLaunch) -> Iterator[Match]:
    """Yield the recipes of the launch's model; for a directory without a handle, those that serve the same path."""
    model = handle_of(server)
    for entry in _entries(server.engine):
        values = entry.values
        same = model is not None and str(values.get("model", "")).lower() == model.lower()
        if model is None and server.path is not None and "model" in values:
            path = server.leaves.get(("model_path",))
            same = path is not None and values.get("model_path") == path
            same = same and values.get("served_names") == server.leaves.get(("served_names",))
        if same and entry.status != "retired" and entry.nodes in {1, server.nodes}:
            recipe, _, variant = entry.name.partition("#")
            penalty = _STATUS_PENALTY[entry.status] + abs(entry.nodes - server.nodes)
            yield Match(recipe, variant or None, (), entry.leaves, penalty)


@cache
def _entries(engine: str) -> tuple[catalogued.Catalogued, ...]:
    found = (each for each in catalogued.everything() if each.recipe.engine == engine)
    return tuple(each for each in found if each.status != "mention")


def _base(server: ServerLaunch) -> Match:
    recipe, own = engines.named(server.engine).base, constant({"engine": server.engine}, layer="launch")
    return Match(recipe, None, (), catalogued.merged(recipe, None, (), own), 0)


def _cost(entry: Match, server: ServerLaunch) -> tuple[int, bool, str, str]:
    differences, _ = _differences(entry, server)
    weight = sum(_IMAGE_WEIGHT if path == ("image",) else 1 for path in differences)
    return (weight + entry.penalty, entry.variant is not None, entry.recipe or "", entry.variant or "")


def _with_fragments(entry: Match, server: ServerLaunch) -> Match:
    """Add fragments of the catalog while each one removes more differences from the launch than naming it adds."""
    while True:
        weight = _cost(entry, server)[0]
        better = min(_extended(entry, server), key=lambda each: _cost(each, server), default=None)
        if weight <= _MIN_GAIN or better is None or _cost(better, server)[0] > weight - _MIN_GAIN:
            return entry
        entry = better


@cache
def _fragments() -> tuple[tuple[str, Fragment], ...]:
    found = ((name, catalog.fragment(name)) for name in catalog.fragment_names())
    return tuple((name, source.value) for name, source in found if source is not None and source.value is not None)


def _extended(entry: Match, server: ServerLaunch) -> Iterator[Match]:
    for name, value in _fragments():
        fits = value.engine in {None, server.engine} and value.nodes in {None, server.nodes}
        if not fits or name in entry.fragments or value.status != "recipe" or value.needs:
            continue
        if any(server.leaves.get(path) == leaf for path, (leaf, _) in catalogued.of_fragment(name).items()):
            fragments = (*entry.fragments, name)
            yield entry._replace(fragments=fragments, leaves=catalogued.merged(entry.recipe, entry.variant, fragments))


def _differences(entry: Match, server: ServerLaunch) -> tuple[dict[Path, Any], list[Note]]:
    """Return what a deployment of the recipe must set to match the launch, and notes on what stays the recipe's."""
    if server.nodes == 1:
        entry = entry._replace(leaves=entry.leaves | catalogued.own_memory(entry.leaves))
    own = dict(server.leaves)
    if server.launch.image is not None:
        own["image",] = server.launch.image
    model = handle_of(server)
    if model is not None:
        own["model",] = model
    if server.served:
        own["served_names",] = server.served
    notes: list[Note] = []
    _use_recipe_store(server, entry.leaves, own)
    _keep_recipe_values(entry, server, own, notes)
    found = {path: value for path, value in own.items() if not _is_equivalent(path, value, entry.leaves)}
    if own.get(("served_names",)) == _default_served(entry, found):
        found.pop(("served_names",), None)
    by_handle = server.path is None and server.model is not None
    if by_handle and ("model_path",) in entry.leaves and "model_path" not in engines.named(server.engine).needs:
        found["model_path",] = None
    for path, (value, origin) in entry.leaves.items():
        unset = path[0] in _OF_SERVER and path not in own
        if unset and origin.layer.startswith(_LAYERS) and not _is_cache(value):
            found[path] = None
    return found, notes


def _default_served(entry: Match, found: Mapping[Path, Any]) -> tuple[object, ...]:
    """Return the served name of a deployment that sets none: the handle of its model."""
    if ("served_names",) in entry.leaves:
        return ()
    return (found.get(("model",), entry.leaves.get(("model",), (None,))[0]),)


def _is_cache(value: object) -> bool:
    """Return whether a value is a directory for compiled code, which a read-only image needs."""
    return isinstance(value, str) and value.startswith(f"{CACHE}/")


def _keep_recipe_values(entry: Match, server: ServerLaunch, own: dict[Path, Any], notes: list[Note]) -> None:
    """Keep values that the catalog corrects on purpose, where the launch's own value is known to be worse."""
    line = server.launch.line
    recipe_values = {path: leaf[0] for path, leaf in entry.leaves.items()}
    for path, value in tuple(own.items()):
        kept = _reason_to_keep(path, value, recipe_values)
        if kept is not None:
            del own[path]
            notes.append(corrected(*server.source(path), kept))
            if path in recipe_values:
                own[path] = recipe_values[path]
    key = own.pop(("api_key",), None) if engines.named(server.engine).key_variable is None else None
    if key is not None and recipe_values.get(("bind",)) == "loopback":
        why = "this server prints its key in its log; the port is bound to loopback instead"
        notes.append(corrected(line, "api_key", why))
    elif key is not None:
        notes.append(lost(line, "api_key", "this server accepts its API key only as an argument; bind it to loopback"))


def _reason_to_keep(path: Path, value: object, recipe_values: Mapping[Path, Any]) -> str | None:
    """Return why the recipe's value is kept, or None if it is not."""
    recipe, why = recipe_values.get(path), None
    match path:
        case ("set", "allowed_local_media_path") if value == "/" and recipe is not None:
            why = _WHOLE_TREE
        case ("set", _) if (
            isinstance(value, str) and isinstance(recipe, str) and ("container", "files", recipe) in recipe_values
        ):
            alike = value.rpartition("/")[2] == recipe.rpartition("/")[2] and value != recipe
            why = "the recipe provides this file, pinned by its hash" if alike else None
        case ("container", "files", _) if isinstance(recipe, dict) and recipe.get("url") and value != recipe:
            why = "the recipe provides this file, pinned by its hash"
        case ("container", "ipc") if (value, recipe) == ("host", "private"):
            why = "a server on one host has a /dev/shm of its own; `container.ipc: host` shares that of the host"
        case ("timeouts", "ready_s") if isinstance(recipe, int) and isinstance(value, int) and value < recipe:
            why = f"the unit waits {recipe} s until the model answers, as in the recipe"
        case ("speculative",) if isinstance(value, dict) and isinstance(recipe, dict) and value != recipe:
            drafter, ours = str(value.get("model", "")), str(recipe.get("model", ""))
            same = {**value, "model": None} == {**recipe, "model": None} and drafter and ours.endswith(f"/{drafter}")
            why = "the drafter is read from the model store" if same else None
    return why


def _is_equivalent(path: Path, value: object, leaves: Leaves) -> bool:
    if path not in leaves:
        return False
    current = leaves[path][0]
    match path:
        case ("image",):
            same = with_tag(value) == with_tag(current)
        case ("model",):
            same = str(value).lower() == str(current).lower()
        case ("env", _):
            same = str(value) == str(current)
        case ("container", "mounts", _) if isinstance(value, dict) and isinstance(current, dict):
            same = value.get("source") == current.get("source")
        case ("set", option):
            same = is_same_value(str(option), value, current)
        case _:
            same = bool(value == current) and isinstance(value, bool) == isinstance(current, bool)
    return same


def is_same_value(option: str, value: object, other: object) -> bool:
    """Return whether two values of an option are the same for the server, which ignores the case of some."""
    if isinstance(value, str) and isinstance(other, str) and _ignores_case(option):
        return value.lower().replace("-", "_") == other.lower().replace("-", "_")
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def with_tag(reference: object) -> str:
    """Return an image reference with its tag, which is `latest` if it names none."""
    text = references.short(str(reference))
    return text if ":" in text.rpartition("/")[2] or "@" in text else f"{serving.repository_of(text)}:latest"


def _ignores_case(option: str) -> bool:
    """Return whether vLLM accepts the value of an option in any letter case."""
    registry = values.OF_OPTION.get(f"--{option.replace('_', '-')}")
    return registry is not None and not registry.exact


def _use_recipe_store(server: ServerLaunch, leaves: Leaves, own: dict[Path, Any]) -> None:
    """Use the recipe's mount of the model store and adapt the launch's paths to it."""
    held, store = {path: leaf[0] for path, leaf in leaves.items()}, server.store
    stores = [str(path[2]) for path, value in held.items() if _is_store(path, value)]
    own_stores = [each for each in stores if own.get(("model_path",)) != each]
    own |= {("container", "mounts", each): None for each in {*stores} - {*own_stores}}  # one mount at a path
    if store is not None and not own_stores and (server.path is None or mounts.is_used(own, store.target, server.path)):
        own["container", "mounts", store.target] = {"source": "model_store"}
        return
    if store is not None and own_stores and store.target not in own_stores:
        for path, value in own.items():
            if path[0] in _OF_SERVER or path[:2] == ("container", "prelude"):
                own[path] = mounts.with_moved_paths(value, server.launch, store.target, own_stores[0])
    for path in [each for each in (*own, *held) if each[0] == "env" and each[-1] in HUB_HOMES]:
        own.pop(path, None)
        own |= {path: held[path]} if path in held else {}


def _is_store(path: Path, value: object) -> bool:
    return path[:2] == ("container", "mounts") and isinstance(value, dict) and value.get("source") == "model_store"
