"""Where the model store is mounted: a recipe may have it elsewhere than a launch, and paths move with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.importers import mounted
from sparkiac.importers.launch import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.importers.wanted import Wanted
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves

_HOMES: Final = frozenset({"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE"})
_WITH_PATHS: Final = frozenset({"set", "env", "speculative"})


def at_the_store(wanted: Wanted, leaves: Leaves, own: dict[Path, Any]) -> list[Note]:
    """Let the recipe say where the model store is mounted; a launch may have it elsewhere."""
    held = {path: leaf[0] for path, leaf in leaves.items()}
    mounts = [str(path[2]) for path, value in held.items() if _is_store(path, value)]
    homes = {path for path in (*own, *held) if path[0] == "env" and path[-1] in _HOMES}
    store = wanted.store
    if store is not None and not mounts and (wanted.path is None or mounted.named(own, store.target, wanted.path)):
        own["container", "mounts", store.target] = {"source": "model_store"}
        return []
    notes: list[Note] = []
    if store is not None and mounts and (store.target not in mounts or wanted.path is not None):
        why = f"the recipe mounts the model store at {mounts[0]}, and the server finds it there"
        notes.append(Note("corrected", store.line, f"-v {store.what}:{store.target}", why))
    if store is not None and mounts and store.target not in mounts:
        notes += _move(wanted, own, mounts[0])
    for path in homes:
        if path in held:
            own[path] = held[path]
        else:
            own.pop(path, None)
    return notes


def _move(wanted: Wanted, own: dict[Path, Any], target: str) -> Iterator[Note]:
    """Let the paths in options and variables move with the model store."""
    assert wanted.store is not None, "a store"  # noqa: S101
    for path, value in tuple(own.items()):
        if path[0] not in _WITH_PATHS and path[:2] != ("container", "prelude"):
            continue
        own[path] = mounted.moved(value, wanted.launch, wanted.store.target, target)
        if own[path] != value and path[-1] not in _HOMES:
            yield Note("corrected", *wanted.place(path), f"its path moves with the mount to {target}")


def _is_store(path: Path, value: object) -> bool:
    return path[:2] == ("container", "mounts") and isinstance(value, dict) and value.get("source") == "model_store"
