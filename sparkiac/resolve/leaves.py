"""Layers of values with the origin of each value.

A layer is flat: path → (value, origin). Merging is one dictionary update per layer, so every leaf keeps its origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from sparkiac.report import Origin, Path
from sparkiac.source.document import Document

Leaves = dict[Path, tuple[Any, Origin]]


def from_document(document: Document, base: Path, *, layer: str, keys: Iterable[str], target: Path = ()) -> Leaves:
    """Flatten the given keys of the mapping at `base` of a document; a missing mapping counts as empty."""
    data = _at(document.data, base)
    chosen = {key: data[key] for key in keys if key in data}

    def origin(path: Path) -> Origin:
        place = (*base, *path)
        return Origin(layer, document.name, document.values.get(place) or document.keys.get(place))

    return {(*target, *path): leaf for path, leaf in _flatten(chosen, (), origin).items()}


@cache
def of_entry(document: Document, *, layer: str, keys: tuple[str, ...]) -> Leaves:
    """Return the given keys of a catalog entry as a layer, computed once and shared by all that uses the entry."""
    return from_document(document, (), layer=layer, keys=keys)


def constant(data: Mapping[str, Any], *, layer: str) -> Leaves:
    """Flatten values that do not come from a file."""
    return _flatten(data, (), lambda _: Origin(layer))


def merge(*layers: Leaves) -> Leaves:
    """Merge layers; later ones override earlier ones. None removes a value and everything below it."""
    merged: Leaves = {}
    for layer in layers:
        for path, leaf in layer.items():
            if leaf[0] is None:
                for gone in [known for known in merged if known[: len(path)] == path]:
                    del merged[gone]
            else:
                merged[path] = leaf
    return merged


def nest(leaves: Leaves) -> dict[str, Any]:
    """Return the leaves as a nested mapping with sorted keys."""
    nested: dict[str, Any] = {}
    for path in sorted(leaves, key=lambda path: tuple(map(str, path))):
        inner = nested
        for part in path[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(path[-1])] = leaves[path][0]
    return nested


def _flatten(data: Mapping[str, Any], path: Path, origin: Callable[[Path], Origin]) -> Leaves:
    leaves: Leaves = {}
    for key, value in data.items():
        here = (*path, key)
        if isinstance(value, dict) and not _is_atomic(here):
            leaves |= _flatten(value, here, origin)
        else:
            leaves[here] = (value, origin(here))
    return leaves


def _is_atomic(path: Path) -> bool:
    """Return whether a mapping at this path is one value (option, mount, file, secret, GPU, method, flags)."""
    match path:
        case (
            ("set", _)
            | ("container", "mounts" | "files", _)
            | ("mounts", _)
            | ("api_key" | "secret_key" | "gpu" | "speculative" | "extra_flags" | "workload" | "measured",)
        ):
            return True
        case _:
            return False


def _at(data: Any, path: Path) -> dict[str, Any]:  # noqa: ANN401
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}
