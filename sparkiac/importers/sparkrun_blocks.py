"""Blocks of a sparkrun recipe beside its command: the container, hooks, what is copied where, and remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers import docker_options, docker_values
from sparkiac.importers.launch import Note
from sparkiac.importers.sheet import entry
from sparkiac.importers.shell_words import script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.importers.sheet import Sheet

_HOOKS: Final = {
    "pre_exec": "run in every container before the server; build it into the image",
    "post_exec": "run in the first container once the server answers; sparkiac runs nothing there",
    "post_commands": "run on the machine that starts it; sparkiac runs nothing there",
}
_BLOCKS: Final = {
    "mods": ("lost", "a patch that is applied in the container at each start; build it into the image"),
    "build_args": ("lost", "for building the image; sparkiac pins images by digest"),
    "builder_config": ("lost", "how the image is built; sparkiac pins images by digest"),
    "containers": ("lost", "an image for each machine; a deployment has one image"),
    "layout": ("lost", "which machine holds which part; a deployment is placed as a whole"),
    "benchmark": ("unused", "settings of sparkrun's benchmark; no part of the server"),
    "builder": ("unused", "the tool that builds the image; no part of the server"),
    "scheduler": ("unused", "how sparkrun chooses machines; an inventory names them"),
    "cluster_config": ("unused", "paths on sparkrun's machines; an inventory has its own"),
    "runtime_cache": ("corrected", "each image, model and set of options has a compile cache of its own"),
    "readiness": ("corrected", "a unit is ready when /health, the model names and one answer are right"),
    "stop_after_post": ("unused", "ends sparkrun's hooks; the service keeps running"),
    "runtime_version": ("unused", "a remark; the image decides which version runs"),
    "sparkrun_version": ("unused", "a remark about sparkrun"),
    "capabilities": ("unused", "for sparkrun's gateway; no part of the server"),
    "unsupported_capabilities": ("unused", "for sparkrun's gateway; no part of the server"),
}
"""Blocks that say nothing of the server's command: kind of the note and reason."""
_ESTIMATE: Final = "remarks, and sizes for sparkrun's memory estimate; the plan reads the model's own"
_OPTION: Final = "nothing in an inventory sets this option of a container"
_WHOLE: Final = {"gpus": "all", "network": "host"}
_LOCAL: Final = "docker"


class Box(NamedTuple):
    """What a recipe says of the container."""

    entrypoint: tuple[str, ...] = ()
    """None of the image's own: the command runs past it."""
    gpus: bool = True
    host_network: bool = True
    ipc: str | None = "host"
    shm_size_bytes: int | None = None
    ulimits: tuple[tuple[str, int], ...] = ()
    devices: tuple[str, ...] = ()
    restart: str | None = None


def box(sheet: Sheet) -> Box:
    """Take `executor` and `executor_config`. What is not said is as sparkrun has it."""
    executor = sheet.word("executor")
    if executor not in {None, _LOCAL}:
        sheet.lost(sheet.line("executor"), f"executor: {executor}", "sparkiac starts containers with docker compose")
    held = {key: _words(value) for key, value in sheet.mapping("executor_config").items() if value is not None}
    for key, words in held.items():
        if not _is_understood(key, words):
            kind, why = _option(key.replace("_", "-"), words)
            line = sheet.line("executor_config", key)
            sheet.copied(Note(kind, line, f"executor_config: {entry(key, ' '.join(words))}", why))
    starts = [word for each in script(" ".join(held.get("entrypoint", ()))).commands for word in each.words]
    return Box(
        entrypoint=tuple(starts),
        host_network=held.get("network", ["host"]) == ["host"],
        ipc=" ".join(held.get("ipc", ["host"])),
        shm_size_bytes=docker_values.size_bytes(" ".join(held.get("shm_size", ()))),
        ulimits=tuple(filter(None, map(docker_values.limit, held.get("ulimit", ())))),
        devices=tuple(held.get("devices", ())),
        restart=" ".join(held["restart_policy"]) if "restart_policy" in held else None,
    )


def _words(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]


def _is_understood(key: str, words: list[str]) -> bool:
    match key:
        case "gpus" | "network":
            return words == [_WHOLE[key]]
        case "shm_size":
            return docker_values.size_bytes(" ".join(words)) is not None
        case "ulimit":
            return all(docker_values.limit(word) for word in words)
        case _:
            return key in {"entrypoint", "ipc", "restart_policy", "devices"}


def _option(name: str, words: list[str]) -> tuple[str, str]:
    """Say what becomes of an option of the container: kind of the note and reason."""
    if name == "user" and words[0] in docker_options.ROOT:
        return "unused", "the images of servers run as root anyway"
    why = docker_options.MEANT.get(name)
    return ("lost", _OPTION) if why is None else ("corrected", why or "a unit runs its container in its own way")


def hooks(sheet: Sheet) -> tuple[str, ...]:
    """Note what sparkrun runs around the server; name what it copies into the containers."""
    copied: list[str] = []
    for key, why in _HOOKS.items():
        for line, each in sheet.entries(key):
            shown = f"{key}: copy {each['copy']}" if isinstance(each, dict) and "copy" in each else entry(key, each)
            sheet.lost(line, shown, why)
            if isinstance(each, dict) and "copy" in each:
                copied.append(str(each.get("dest") or f"/workspace/mods/{str(each['copy']).rpartition('/')[2]}"))
    return tuple(copied)


def description(sheet: Sheet) -> str | None:
    """Take the description, which may stand under `metadata`; note what else stands there."""
    metadata = sheet.take("metadata")
    held = dict(metadata) if isinstance(metadata, dict) else {}
    found = sheet.word("description")
    if found is None and not isinstance(held.get("description"), dict | tuple | None):
        found = str(held.pop("description")).strip()
    if held or (metadata is not None and not isinstance(metadata, dict)):
        sheet.unused(sheet.line("metadata"), entry("metadata", held or metadata), _ESTIMATE)
    return found


def blocks(sheet: Sheet) -> None:
    """Note the blocks beside the command."""
    for key, (kind, why) in _BLOCKS.items():
        for line, each in sheet.entries(key):
            if each is not False:
                sheet.copied(Note(kind, line, entry(key, each), why))


def distribution(sheet: Sheet, *, model: str | None, container: str | None, revision: str | None) -> str | None:
    """Take what is copied to the machines: the model's revision of it, if the recipe has none; note all else."""
    key = "distribution_config"
    found = revision
    for kind, own in (("models", model), ("containers", container)):
        block = sheet.mapping(key).get(kind)
        entries = block.get("entries") if isinstance(block, dict) else None
        for index, each in enumerate(entries if isinstance(entries, tuple) else ()):
            held: Mapping[str, object] = each if isinstance(each, dict) else {"name": each}
            if held.get("name") in {own, "{model}", "{container}"} and own is not None:
                found = found or (str(held["revision"]) if held.get("revision") else None)
            else:
                why = f"one more of the {kind} that sparkrun copies; sparkiac fetches what a deployment names"
                sheet.lost(sheet.line(key, kind, "entries", index), entry(kind, _copied(held)), why)
        if isinstance(block, dict) and block.get("enabled") is False:
            sheet.lost(sheet.line(key, kind), f"{kind}: enabled: false", "sparkiac fetches what is not there")
    for kind in sheet.mapping(key).keys() - {"models", "containers"}:
        sheet.lost(sheet.line(key, kind), entry(kind, sheet.mapping(key)[kind]), "not understood")
    return found


def _copied(held: Mapping[str, object]) -> str:
    revision = held.get("revision")
    return f"{held.get('name')}@{revision}" if revision else str(held.get("name"))
