"""Mounts of a launch: the model store, the served directory, single files, and all others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.importers import hiding
from sparkiac.importers.launch import Note
from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.importers.launch import Launch, Volume
    from sparkiac.report import Path

_HUB: Final = re.compile(r"(/[^/]+)*/\.cache/huggingface(/hub)?")
_COMPILED: Final = re.compile(
    r".*(/\.cache(/(vllm|flashinfer|torch|triton|tvm|tilelang|sglang|nv|deep_gemm|cutlass|outlines|xgrammar).*)?"
    r"|/\.triton|/\.nv|/\.tilelang|/\.config/vllm|/torchinductor.*|/triton[-_]cache|/vllm[-_](compile[-_])?cache|/cache)"
)
NOWHERE: Final = "mounted by the imported command from a path that cannot be known from here: give its url"
"""What stands in the place of a file's address."""
_STORES: Final = frozenset({"/models", "/root/models", "/hf", "/huggingface", "/models/drafter-cache"})
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
    homes = [
        str(leaves["env", name])
        for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
        if ("env", name) in leaves
    ]
    for volume in launch.volumes:
        if volume.target == path:
            continue
        inside = any(home == volume.target or home.startswith(f"{volume.target}/") for home in homes)
        if inside or _HUB.fullmatch(volume.target) or volume.target in _STORES:
            known = volume.source if re.fullmatch(forms.PATH, volume.source) else None
            return Store(volume.target, known, volume.line, volume.source)
    return None


def rest(launch: Launch, found: Store | None, path: str | None) -> Rest:
    """Say what becomes of the mounts beside the store and the served directory."""
    leaves: dict[Path, Any] = {}
    lines: dict[Path, int] = {}
    notes: list[Note] = []
    for volume in launch.volumes:
        if found is not None and volume.target == found.target:
            continue
        if path is not None and (volume.target == path or path.startswith(f"{volume.target}/")):
            why = "weights lie in the model store, under organisation and name, and are mounted read-only"
            notes.append(Note("corrected", volume.line, hiding.shown(f"-v {volume.source}:{volume.target}"), why))
            continue
        leaf = _leaf(volume, notes)
        if leaf is not None:
            leaves[leaf[0]] = leaf[1]
            lines[leaf[0]] = volume.line
    return Rest(leaves, lines, tuple(notes))


def source_of(launch: Launch, path: str) -> str | None:
    """Give the directory of the host that a served path lies in, as it is written; of mounts in mounts, the inner's."""
    around = [each for each in launch.volumes if path == each.target or path.startswith(f"{each.target}/")]
    found = max(around, key=lambda volume: len(volume.target), default=None)
    return found.source.rstrip("/") + path[len(found.target) :] if found is not None else None


def _leaf(volume: Volume, notes: list[Note]) -> tuple[Path, Any] | None:
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
    elif _COMPILED.fullmatch(volume.target):
        notes.append(Note("corrected", volume.line, what, "compiled code is kept in a cache of its own, never stale"))
    elif not known:
        why = "where that is on the host cannot be known from here: write container.mounts with an absolute path"
        notes.append(Note("lost", volume.line, what, why))
    else:
        return ("container", "mounts", volume.target), {"source": volume.source, "read_only": volume.read_only}
    return None


def _file(volume: Volume, *, known: bool) -> dict[str, str]:
    """Name a file by its path on the host; where that cannot be known, say so in its place."""
    return {"url": f"file://{volume.source}"} if known else {"why": NOWHERE}
