"""Mounts of a launch: the model store, the served directory, single files, and all others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sparkiac.engines.engine import HUB_HOMES
from sparkiac.foreign import values
from sparkiac.foreign.launch import Launch, Note, OptionValue, Volume, corrected, lost
from sparkiac.model import forms
from sparkiac.report import Path, placeholders

_HUB: Final = re.compile(r"(/[^/]+)*/\.cache/huggingface(/hub)?")
_COMPILE_CACHES: Final = re.compile(
    r".*(/\.cache(/(vllm|flashinfer|torch|triton|tvm|tilelang|sglang|nv|deep_gemm|cutlass|outlines|xgrammar).*)?"
    r"|/\.triton|/\.nv|/\.tilelang|/\.config/vllm|/torchinductor.*|/triton[-_]cache|/vllm[-_](compile[-_])?cache|/cache)"
)
_STORES: Final = frozenset({"/models", "/root/models", "/hf", "/huggingface", "/models/drafter-cache"})
_WITH_PATHS: Final = frozenset({"set", "speculative"})
"""Keys whose values can contain paths that the server reads."""
_OWN_CACHE: Final = "compiled code is kept in a separate cache for each image, model and set of options"
_LINKS: Final = ("/dev/infiniband", "/sys/class/infiniband")
_SOCKET: Final = re.compile(r".*/(docker|podman|containerd|crio|buildkitd)\.sock")
_SYSTEM: Final = re.compile(r"/((boot|dev|etc|home|proc|root|run|sys|usr|var)(/(run|lib(/docker)?)?)?)?")
_HOST: Final = "with this mount the container controls the host: it is left out; write it yourself if it must be"
_DOWNLOAD: Final = re.compile(r"(?<![^\s;&(])(?:wget|curl)\s([^\n|;&#`]{1,2000})")
_SAVED: Final = re.compile(r"(?<!\S)(?:-O|-o|--output|--output-document)[ =]([^\s-]\S*)|>\s*(\S+)")
_HERE: Final = re.compile(r"(?:\./|\$\(pwd\)/|\$PWD/|\$\{PWD\}/)?")
_FILE: Final = re.compile(r"[^/]+\.(py|jinja2?|json|ya?ml|txt|sh|so|conf|toml|tmpl|model)")


class StoreMount(NamedTuple):
    """The mount in which the server finds models."""

    target: str
    source: str | None
    """Directory on the host, if known."""


def store(
    launch: Launch, leaves: Mapping[Path, Any], path: str | None, downloads: OptionValue | None
) -> StoreMount | None:
    """Find the mount of the model store: the Hugging Face cache, that of HF_HOME or --download-dir, or /models."""
    homes = [str(leaves["env", name]) for name in HUB_HOMES if ("env", name) in leaves]
    homes += [str(downloads.value)] if downloads is not None else []
    for volume in launch.volumes:
        if volume.target == path:
            continue
        inside = any(home == volume.target or home.startswith(f"{volume.target}/") for home in homes)
        if inside or _HUB.fullmatch(volume.target) or volume.target in _STORES:
            known = volume.source if re.fullmatch(forms.PATH, volume.source) else None
            return StoreMount(volume.target, known)
    return None


def other_mounts(
    launch: Launch, found: StoreMount | None, path: str | None, settings: Mapping[Path, Any]
) -> Iterator[tuple[Path, Any, int] | Note]:
    """Yield path, value and line of the mounts other than the store and the served directory, or notes on them.

    `settings` may use paths in them.
    """
    for volume in launch.volumes:
        needed = is_used(settings, volume.target, path)
        if found is not None and volume.target == found.target:
            continue
        if path is not None and (volume.target == path or (path.startswith(f"{volume.target}/") and not needed)):
            why = "weights are in the model store, under organisation/name, mounted read-only"
            yield corrected(volume.line, f"-v {volume.source}:{volume.target}", why)
        else:
            yield _mount(volume, needed=needed)


def with_downloads(launch: Launch, text: str) -> Launch:
    """Return a launch whose mounted files have the addresses from which wget or curl fetches them in the text."""
    found = dict[str, str]()
    for download in _DOWNLOAD.finditer(text):
        words = [word.strip("'\"") for word in download[1].split()]
        urls = [word for word in words if word.startswith("https://") and re.fullmatch(forms.SOURCE, word)]
        saved = _SAVED.search(download[1])
        name = (saved[1] or saved[2]).strip("'\"") if saved else urls[0].rpartition("/")[2] if urls else ""
        if len(urls) == 1:
            found[_HERE.sub("", name, count=1)] = urls[0]
    sources = (found.get(_HERE.sub("", each.source, count=1), each.source) for each in launch.volumes)
    moved = (each._replace(source=source) for each, source in zip(launch.volumes, sources, strict=True))
    return launch._replace(volumes=tuple(moved))


def controls_host(volume: Volume) -> Note | None:
    """Return the note on a mount that gives a container control of its host: a runtime's socket, a system directory."""
    writable = not volume.read_only and _SYSTEM.fullmatch(volume.source)
    if writable or _SOCKET.fullmatch(volume.source):
        return lost(volume.line, f"-v {volume.source}:{volume.target}", _HOST)
    return None


def containing(launch: Launch, path: str) -> Volume | None:
    """Return the innermost mount that contains a path of the container."""
    found = [each for each in launch.volumes if path == each.target or path.startswith(f"{each.target}/")]
    return max(found, key=lambda volume: len(volume.target), default=None)


def host_path(launch: Launch, path: str) -> str | None:
    """Return the host's path for a path in the container, as written in the file."""
    found = containing(launch, path)
    return found.source.rstrip("/") + path[len(found.target) :] if found is not None else None


def is_used(settings: Mapping[Path, Any], target: str, path: str | None = None) -> bool:
    """Return whether a setting uses a path in a mount, other than the served path."""
    texts = (text for key, value in settings.items() if key[0] in _WITH_PATHS for text in _texts(value))
    return any(text != path and f"{text}/".startswith(f"{target}/") for text in texts)


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401  any option's value
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def with_moved_paths(value: Any, launch: Launch, before: str, after: str) -> Any:  # noqa: ANN401
    """Return a setting with its paths adapted to a mount that moves from `before` to `after`."""

    def moved(text: object) -> object:
        if not isinstance(text, str) or not f"{text}/".startswith(f"{before}/"):
            return text
        inner = containing(launch, text)
        return after + text[len(before) :] if inner is None or inner.target == before else text

    return values.mapped(value, moved)


def _mount(volume: Volume, *, needed: bool) -> tuple[Path, Any, int] | Note:
    what, line, target = f"-v {volume.source}:{volume.target}", volume.line, volume.target
    known = re.fullmatch(forms.PATH, volume.source) is not None and "/../" not in f"{volume.source}/"
    note = controls_host(volume)
    if not re.fullmatch(forms.PATH, target) or "/../" in f"{target}/" or "/./" in f"{target}/":
        note = lost(line, what, "an inventory cannot contain this path in the container")
    elif target == "/dev/shm":  # noqa: S108  compared
        note = corrected(line, what, "set by `container.ipc`")
    elif target.startswith(_LINKS):
        note = corrected(line, what, "the nodes of a group get the RDMA devices of their links")
    elif _FILE.fullmatch(target.rpartition("/")[2]):
        url = f"file://{volume.source}" if known else placeholders.URL
        url = volume.source if re.fullmatch(forms.SOURCE, volume.source) else url
        return ("container", "files", target), {"url": url}, line
    elif _COMPILE_CACHES.fullmatch(target) and not needed:
        note = corrected(line, what, _OWN_CACHE)
    elif note is None and not known:
        note = lost(line, what, "its path on the host is unknown: write container.mounts with an absolute path")
    return note or (("container", "mounts", target), {"source": volume.source, "read_only": volume.read_only}, line)
