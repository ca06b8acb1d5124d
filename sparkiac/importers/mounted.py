"""Mounts of a launch: the model store, the served directory, single files, and all others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import placeholders
from sparkiac.importers import hiding
from sparkiac.importers.launch import Note
from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.importers.launch import Launch, Volume
    from sparkiac.report import Path

_HUB: Final = re.compile(r"(/[^/]+)*/\.cache/huggingface(/hub)?")
_COMPILED: Final = re.compile(
    r".*(/\.cache(/(vllm|flashinfer|torch|triton|tvm|tilelang|sglang|nv|deep_gemm|cutlass|outlines|xgrammar).*)?"
    r"|/\.triton|/\.nv|/\.tilelang|/\.config/vllm|/torchinductor.*|/triton[-_]cache|/vllm[-_](compile[-_])?cache|/cache)"
)
_STORES: Final = frozenset({"/models", "/root/models", "/hf", "/huggingface", "/models/drafter-cache"})
_HOMES: Final = (
    *(("env", name) for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")),
    ("set", "download_dir"),
)
"""What names the directory of the hub's cache."""
_NAMING: Final = frozenset({"set", "speculative"})
"""Keys whose values name paths that the server reads."""
_LINKS: Final = ("/dev/infiniband", "/sys/class/infiniband")
_FILE: Final = re.compile(r"[^/]+\.(py|jinja2?|json|ya?ml|txt|sh|so|conf|toml|tmpl|model)")


class Store(NamedTuple):
    """The mount through which the server finds models."""

    target: str
    source: str | None
    """Directory of the host, if it can be known."""
    line: int
    what: str
    """The source as it is written."""


class Rest(NamedTuple):
    """All other mounts."""

    leaves: dict[Path, Any]
    lines: Mapping[Path, int]
    notes: tuple[Note, ...]


def store(launch: Launch, leaves: Mapping[Path, Any], path: str | None) -> Store | None:
    """Find the mount of the model store: the hub's cache, where HF_HOME or its kin point, or /models."""
    homes = [str(leaves[each]) for each in _HOMES if each in leaves]
    for volume in launch.volumes:
        if volume.target == path:
            continue
        inside = any(home == volume.target or home.startswith(f"{volume.target}/") for home in homes)
        if inside or _HUB.fullmatch(volume.target) or volume.target in _STORES:
            known = volume.source if re.fullmatch(forms.PATH, volume.source) else None
            return Store(volume.target, known, volume.line, volume.source)
    return None


def rest(launch: Launch, found: Store | None, path: str | None, said: Mapping[Path, Any]) -> Rest:
    """Say what becomes of the mounts beside the store and the served directory; `said` may name paths in them."""
    leaves: dict[Path, Any] = {}
    lines: dict[Path, int] = {}
    notes: list[Note] = []
    for volume in launch.volumes:
        if found is not None and volume.target == found.target:
            continue
        needed = named(said, volume.target, path)
        if path is not None and (volume.target == path or (path.startswith(f"{volume.target}/") and not needed)):
            why = "weights lie in the model store, under organisation and name, and are mounted read-only"
            notes.append(Note("corrected", volume.line, hiding.shown(f"-v {volume.source}:{volume.target}"), why))
            continue
        leaf = _leaf(volume, notes, needed=needed)
        if leaf is not None:
            leaves[leaf[0]] = leaf[1]
            lines[leaf[0]] = volume.line
    return Rest(leaves, lines, tuple(notes))


def around(launch: Launch, path: str) -> Volume | None:
    """Give the mount that a path in the container lies in; of mounts in mounts, the inner one."""
    found = [each for each in launch.volumes if path == each.target or path.startswith(f"{each.target}/")]
    return max(found, key=lambda volume: len(volume.target), default=None)


def source_of(launch: Launch, path: str) -> str | None:
    """Give the path on the host of a path in the container, as it is written."""
    found = around(launch, path)
    return found.source.rstrip("/") + path[len(found.target) :] if found is not None else None


def named(said: Mapping[Path, Any], target: str, path: str | None = None) -> bool:
    """Whether an option names something in a mount beside the served path."""
    texts = (text for key, value in said.items() if key[0] in _NAMING for text in _texts(value))
    return any(text != path and f"{text}/".startswith(f"{target}/") for text in texts)


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401  any option's value
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def moved(value: Any, launch: Launch, before: str, after: str) -> Any:  # noqa: ANN401
    """Give an option's value with the paths in it that lie in a mount, as they are where the mount is put now."""
    if isinstance(value, dict):
        return {key: moved(each, launch, before, after) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(moved(each, launch, before, after) for each in value)
    if not isinstance(value, str) or not f"{value}/".startswith(f"{before}/"):
        return value
    inner = around(launch, value)
    return after + value[len(before) :] if inner is None or inner.target == before else value


def _leaf(volume: Volume, notes: list[Note], *, needed: bool) -> tuple[Path, Any] | None:
    what = hiding.shown(f"-v {volume.source}:{volume.target}")
    name = volume.target.rpartition("/")[2]
    known = re.fullmatch(forms.PATH, volume.source) is not None and "/../" not in f"{volume.source}/"
    if not re.fullmatch(forms.PATH, volume.target) or "/../" in f"{volume.target}/" or "/./" in f"{volume.target}/":
        notes.append(Note("lost", volume.line, what, "this is no path in a container that an inventory can write"))
    elif volume.target == "/dev/shm":  # noqa: S108  compared
        notes.append(Note("corrected", volume.line, what, "`container.ipc` says whose shared memory is used"))
    elif volume.target.startswith(_LINKS):
        notes.append(Note("corrected", volume.line, what, "the nodes of a group get their link's devices"))
    elif _FILE.fullmatch(name):
        return ("container", "files", volume.target), _file(volume, known=known)
    elif _COMPILED.fullmatch(volume.target) and not needed:
        notes.append(Note("corrected", volume.line, what, "compiled code is kept in a cache of its own, never stale"))
    elif not known:
        why = "where that is on the host cannot be known from here: write container.mounts with an absolute path"
        notes.append(Note("lost", volume.line, what, why))
    else:
        return ("container", "mounts", volume.target), {"source": volume.source, "read_only": volume.read_only}
    return None


def _file(volume: Volume, *, known: bool) -> dict[str, str]:
    """Name a file by its path on the host; where that is not known, a placeholder stands in its place."""
    return {"url": f"file://{volume.source}" if known else placeholders.URL}
