"""Which catalog recipe a launch is, and what it does otherwise."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.engines.vllm import CACHE
from sparkiac.engines.vllm_check import names
from sparkiac.importers import mounted, serving, storing
from sparkiac.importers.launch import Note
from sparkiac.model import forms
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.importers.wanted import Wanted
    from sparkiac.model.catalog import Fragment
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves

_LAYERS: Final = ("recipe ", "variant ", "fragment ")
_TAKEN_AWAY: Final = frozenset({"set", "env", "speculative"})
"""Keys whose values count as chosen: what a launch does not say of them, it does not have."""
_BASES: Final = {
    "vllm": "base/single-spark",
    "sglang": "base/sglang",
    "llama-cpp": "base/llama-cpp",
    "tensorrt-llm": "base/tensorrt-llm",
}
_WORSE: Final = {"recipe": 0, "superseded": 2, "retired": 3}
_IMAGE: Final = 2
_GAIN: Final = 2
"""Differences that a fragment must save to be named."""
_WHOLE_TREE: Final = "requests would read every file in the container; the recipe's directory is taken"


class Match(NamedTuple):
    """A recipe, with what a deployment says beside it."""

    recipe: str
    variant: str | None
    fragments: tuple[str, ...]
    differences: dict[Path, Any]
    """Path → value of the deployment; None takes the recipe's away."""
    notes: tuple[Note, ...]
    known: bool
    """Whether the recipe is one of this model."""
    has: frozenset[Path]
    """What the recipe gives a value to."""


class _Entry(NamedTuple):
    """A candidate, as far as it is compared."""

    recipe: str
    variant: str | None
    fragments: tuple[str, ...]
    leaves: Leaves
    worse: int


def find(wanted: Wanted) -> Match:
    """Find the entry with the fewest differences: of the same model, or else the engine's base."""
    candidates = tuple(_candidates(wanted))
    best = min(candidates or (_base(wanted),), key=lambda entry: _cost(entry, wanted))
    best = _with_fragments(best, wanted)
    differences, notes = _differences(best, wanted)
    return Match(
        best.recipe, best.variant, best.fragments, differences, tuple(notes), bool(candidates), frozenset(best.leaves)
    )


def handle_of(wanted: Wanted) -> str | None:
    """Give the model that a served directory is called after, if the catalog or a served name tells."""
    if wanted.model is not None or wanted.path is None:
        return wanted.model
    source = mounted.source_of(wanted.launch, wanted.path) or wanted.path
    parts = [part for part in source.split("/") if part]
    if len(parts) > 1 and parts[-1].endswith(".gguf"):
        parts.pop()
    own = {entry.values["model"] for entry in _entries(wanted.engine) if "model" in entry.values}
    own |= {name for name in wanted.leaves.get(("served_names",), ()) if re.fullmatch(forms.HANDLE, name)}
    named = sorted(handle for handle in own if parts and handle.partition("/")[2].lower() == parts[-1].lower())
    return named[0] if named else None


def _candidates(wanted: Wanted) -> Iterator[_Entry]:
    """Give the entries that serve the launch's model; of a directory without a name, those that serve it alike."""
    model = handle_of(wanted)
    for entry in _entries(wanted.engine):
        values = entry.values
        same = model is not None and str(values.get("model", "")).lower() == model.lower()
        if model is None and wanted.path is not None and "model" in values:
            path = wanted.leaves.get(("model_path",))
            same = path is not None and values.get("model_path") == path
            same = same and values.get("served_names") == wanted.leaves.get(("served_names",))
        if same and entry.status not in {"mention", "retired"} and entry.nodes in {1, wanted.nodes}:
            recipe, _, variant = entry.name.partition("#")
            yield _Entry(
                recipe, variant or None, (), entry.leaves, _WORSE[entry.status] + abs(entry.nodes - wanted.nodes)
            )


@cache
def _entries(engine: str) -> tuple[catalogued.Catalogued, ...]:
    found = (each for each in catalogued.everything() if each.recipe.engine == engine)
    return tuple(each for each in found if each.status != "mention")


def _base(wanted: Wanted) -> _Entry:
    recipe = _BASES.get(wanted.engine, "base/single-spark")
    return _Entry(recipe, None, (), catalogued.merged(recipe, None, ()), 0)


def _cost(entry: _Entry, wanted: Wanted) -> tuple[int, bool, str, str]:
    differences, _ = _differences(entry, wanted)
    weight = sum(_IMAGE if path == ("image",) else 1 for path in differences)
    return (weight + entry.worse, entry.variant is not None, entry.recipe, entry.variant or "")


def _with_fragments(entry: _Entry, wanted: Wanted) -> _Entry:
    """Lay fragments over an entry as long as each saves more than its name costs."""
    while True:
        weight = _cost(entry, wanted)[0]
        better = min(_laid(entry, wanted), key=lambda each: _cost(each, wanted), default=None)
        if weight <= _GAIN or better is None or _cost(better, wanted)[0] > weight - _GAIN:
            return entry
        entry = better


@cache
def _fragments() -> tuple[tuple[str, Fragment], ...]:
    found = ((name, catalog.fragment(name)) for name in catalog.fragment_names())
    return tuple((name, source.value) for name, source in found if source is not None and source.value is not None)


def _laid(entry: _Entry, wanted: Wanted) -> Iterator[_Entry]:
    for name, value in _fragments():
        fits = value.engine in {None, wanted.engine} and value.nodes in {None, wanted.nodes}
        if not fits or name in entry.fragments or value.status != "recipe" or value.needs:
            continue
        if any(wanted.leaves.get(path) == leaf for path, (leaf, _) in catalogued.of_fragment(name).items()):
            fragments = (*entry.fragments, name)
            yield entry._replace(fragments=fragments, leaves=catalogued.merged(entry.recipe, entry.variant, fragments))


def _differences(entry: _Entry, wanted: Wanted) -> tuple[dict[Path, Any], list[Note]]:
    """Give what a deployment of the entry must say to be the launch, and what stays the recipe's all the same."""
    own = dict(wanted.leaves)
    if wanted.launch.image is not None:
        own["image",] = wanted.launch.image
    model = handle_of(wanted)
    if model is not None:
        own["model",] = model
    if wanted.served:
        own["served_names",] = wanted.served
    notes = storing.at_the_store(wanted, entry.leaves, own)
    _as_the_recipe_has_it(entry, wanted, own, notes)
    found = {path: value for path, value in own.items() if not _same(path, value, entry.leaves)}
    if own.get(("served_names",)) == _implied(entry, found):
        found.pop(("served_names",), None)
    by_handle = wanted.path is None and wanted.model is not None
    if by_handle and ("model_path",) in entry.leaves and "model_path" not in engines.named(wanted.engine).needs:
        found["model_path",] = None
    for path, (value, origin) in entry.leaves.items():
        if path[0] in _TAKEN_AWAY and path not in own and origin.layer.startswith(_LAYERS) and not _is_cache(value):
            found[path] = None
    return found, notes


def _implied(entry: _Entry, found: Mapping[Path, Any]) -> tuple[object, ...]:
    """Give the name under which a deployment is served that gives none: its model's, in its spelling."""
    if ("served_names",) in entry.leaves:
        return ()
    return (found.get(("model",), entry.leaves.get(("model",), (None,))[0]),)


def _is_cache(value: object) -> bool:
    """Whether a value is a place for compiled code, which the image's read-only file system needs."""
    return isinstance(value, str) and value.startswith(f"{CACHE}/")


def _as_the_recipe_has_it(entry: _Entry, wanted: Wanted, own: dict[Path, Any], notes: list[Note]) -> None:
    """Keep what the catalog corrects on purpose: where the launch's own way is known to be worse."""
    line = wanted.launch.line
    held = {path: leaf[0] for path, leaf in entry.leaves.items()}
    for path, value in tuple(own.items()):
        kept = _kept(path, value, held)
        if kept is not None:
            del own[path]
            notes.append(Note("corrected", *wanted.place(path), kept))
            if path in held:
                own[path] = held[path]
    key = own.pop(("api_key",), None) if engines.named(wanted.engine).key_variable is None else None
    if key is not None and held.get(("bind",)) == "loopback":
        notes.append(Note("corrected", line, "api_key", "this server shows its key; the port is on loopback instead"))
    elif key is not None:
        notes.append(
            Note("lost", line, "api_key", "this server takes a key in its arguments alone; bind it to loopback")
        )


def _kept(path: Path, value: object, held: Mapping[Path, Any]) -> str | None:
    """Say why the recipe's value stays, if it does."""
    recipe = held.get(path)
    match path:
        case ("set", "allowed_local_media_path") if value == "/" and recipe is not None:
            return _WHOLE_TREE
        case ("set", _) if isinstance(value, str) and isinstance(recipe, str) and _is_brought(recipe, held):
            alike = value.rpartition("/")[2] == recipe.rpartition("/")[2] and value != recipe
            return "the recipe brings this file, pinned by its hash" if alike else None
        case ("container", "files", _) if isinstance(recipe, dict) and recipe.get("url") and value != recipe:
            return "the recipe brings this file, pinned by its hash"
        case ("timeouts", "ready_s") if isinstance(recipe, int) and isinstance(value, int) and value < recipe:
            return f"ready means that the model answers, and that is waited for {recipe} s"
        case ("speculative",) if isinstance(value, dict) and isinstance(recipe, dict) and value != recipe:
            drafter, ours = str(value.get("model", "")), str(recipe.get("model", ""))
            same = {**value, "model": None} == {**recipe, "model": None}
            return "the drafter lies in the model store" if same and drafter and ours.endswith(f"/{drafter}") else None
        case _:
            return None


def _is_brought(path: str, held: Mapping[Path, Any]) -> bool:
    return ("container", "files", path) in held


def _same(path: Path, value: object, leaves: Leaves) -> bool:
    """Whether a value means what the recipe has."""
    if path not in leaves:
        return False
    held = leaves[path][0]
    match path:
        case ("image",):
            same = _plain(value) == _plain(held)
        case ("model",):
            same = str(value).lower() == str(held).lower()
        case ("env", _):
            same = str(value) == str(held)
        case ("container", "mounts", _) if isinstance(value, dict) and isinstance(held, dict):
            same = value.get("source") == held.get("source")
        case ("set", option) if isinstance(value, str) and isinstance(held, str) and _is_name(str(option)):
            same = value.lower().replace("-", "_") == held.lower().replace("-", "_")
        case _:
            same = bool(value == held) and isinstance(value, bool) == isinstance(held, bool)
    return same


def _plain(reference: object) -> str:
    text = str(reference).removeprefix("docker.io/")
    return text if ":" in text.rpartition("/")[2] or "@" in text else f"{serving.repository_of(text)}:latest"


def _is_name(option: str) -> bool:
    """Whether vLLM takes the value of an option in any case."""
    registry = names.OF_OPTION.get(f"--{option.replace('_', '-')}")
    return registry is not None and not registry.exact
