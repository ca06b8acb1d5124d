"""Find where a resolved value comes from, by its dotted path."""

from __future__ import annotations

from typing import NamedTuple

from sparkiac.report import Origin, Path
from sparkiac.resolve import Resolved, stacks
from sparkiac.source.gate import present_name


class Explained(NamedTuple):
    """One resolved value, with the value of each layer."""

    path: str
    """Dotted path; without a host if all hosts of the deployment have the same value."""
    values: tuple[tuple[object, Origin], ...]
    """The value of each layer, lowest first; the last one is used."""


def explain(resolved: Resolved, requested: str) -> tuple[Explained, ...]:
    """Return the values at a path and below it, sorted; empty if there are none.

    A deployment's path may leave its host out: deployments.chat.set.max_model_len.
    """
    *base, key = requested.split(".")
    requested = ".".join((*base, present_name(tuple(base), key)))
    found: dict[str, dict[Path, tuple[tuple[object, Origin], ...]]] = {}
    for path in resolved.leaves:
        if any(_within(each, requested) for each in (_dotted(path), _short(path))):
            values = stacks.history(resolved.inventory, path, resolved.leaves, resolved.library)
            found.setdefault(_short(path), {})[path] = values
    return tuple(each for short in sorted(found) for each in _joined(short, found[short]))


def paths(resolved: Resolved) -> tuple[str, ...]:
    """Return every path that --explain accepts, sorted."""
    return tuple(sorted({_short(path) for path in resolved.leaves}))


def _joined(short: str, found: dict[Path, tuple[tuple[object, Origin], ...]]) -> tuple[Explained, ...]:
    if len({repr(values) for values in found.values()}) == 1:
        return (Explained(short, next(iter(found.values()))),)
    entries = sorted(found.items(), key=lambda item: item[0][:3])
    return tuple(Explained(_dotted(path), values) for path, values in entries)


def _within(path: str, requested: str) -> bool:
    return path == requested or path.startswith(f"{requested}.")


def _short(path: Path) -> str:
    return _dotted((*path[:2], *path[3:]) if path[0] == "deployments" else path)


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
