"""Generations: complete copies of everything that one apply puts on this host.

A generation is a directory named after the hash of its files. The copies in it are never used by a unit: `switch`
installs them, and can therefore install a former generation again, whatever happened to the installed files.

The units of different turns share a host and never run together. The state of the host names the current turn.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from .. import durable
from ..contract import decoded, validated
from ..generation import GenerationPlan, PlacedFile, generation_id
from ..local import LocalHost
from . import effective

HOME = "/var/lib/sparkiac"
GENERATIONS = f"{HOME}/generations"
PLAN = "etc/sparkiac/generation.json"
ADOPTED = "adopted.json"
"""Plan of a generation that a former version found installed, by one that had no generation.json."""
NAME = re.compile(r"[0-9a-f]{16}")
NOTHING: dict[str, Any] = {
    "host": "",
    "memory_bytes": None,
    "turns": [],
    "units": [],
    "sysctls": [],
    "packages": {},
    "parameters": [],
    "group": None,
    "nft_optional": False,
    "clients": {},
    "egress": {},
    "needs": {"images": [], "stores": [], "extra_files": [], "caches": []},
}
"""Plan of a host without a generation."""
ADDED = ("packages", "parameters", "nft_optional", "clients", "egress")
"""Keys that the plans of older versions of sparkiac do not have."""


class GenerationError(RuntimeError):
    """A generation is missing, damaged or not what was announced."""


class StagedFile(NamedTuple):
    """A generated file with its content."""

    path: str
    mode: str
    sha256: str
    text: str


STAGED = {"generation": str, "files": list[StagedFile]}


class Generation(NamedTuple):
    """A generation on this host."""

    name: str | None
    """None if the host has none: no files, no units."""
    files: tuple[PlacedFile, ...]
    plan: dict[str, Any]
    directory: Path | None

    def content(self, path: str) -> bytes:
        """Return the content of a file; raise GenerationError if it is not what was staged."""
        file = next(each for each in self.files if each.path == path)
        assert self.directory is not None  # noqa: S101 - a generation with files has a directory
        data = (self.directory / "files" / path).read_bytes()
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise GenerationError(f"{self.directory / 'files' / path} is damaged: apply again")
        return data


def directory(machine: LocalHost, name: str) -> Path:
    """Return the directory of a generation."""
    if not NAME.fullmatch(name):
        raise GenerationError(f"not the name of a generation: {name!r}")
    return machine.path(f"{GENERATIONS}/{name}")


def kept(machine: LocalHost) -> list[str]:
    """Return the generations that can be installed, in the order of their names."""
    return sorted(each.parent.name for each in machine.path(GENERATIONS).glob("*/files.json"))


def load(machine: LocalHost, name: str | None) -> Generation:
    """Read a generation; raise GenerationError if this host does not have it."""
    if name is None:
        return Generation(None, (), NOTHING, None)
    place = directory(machine, name)
    try:
        text = (place / "files.json").read_text("utf-8")
    except FileNotFoundError:
        message = f"this host has no generation {name}; it has {', '.join(kept(machine)) or 'none'}"
        raise GenerationError(message) from None
    listed = validated("program", "files.json", decoded(str(place / "files.json"), text), list[PlacedFile])
    files = tuple(PlacedFile(**each) for each in listed)
    found = Generation(name, files, NOTHING, place)
    adopted = place / ADOPTED
    return found._replace(plan=read_plan(PLAN, adopted.read_bytes() if adopted.exists() else found.content(PLAN)))


def readable(machine: LocalHost, name: str | None) -> Generation:
    """Return a generation; that of a host without one if it is missing or damaged."""
    try:
        return load(machine, name)
    except (OSError, ValueError, GenerationError):
        return load(machine, None)


def installed(machine: LocalHost) -> dict[str, Any]:
    """Return the plan of the generation that is installed."""
    return read_plan(f"/{PLAN}", machine.read(f"/{PLAN}"))


def read_plan(name: str, text: str | bytes) -> dict[str, Any]:
    """Return the plan of a generation, also of one that an older version of sparkiac wrote."""
    plan = {**{key: NOTHING[key] for key in ADDED}, **decoded(name, text)}
    if plan.get("group"):
        plan["group"].setdefault("peers", [])
    return dict(validated("program", name, plan, GenerationPlan))


def stage(machine: LocalHost, staged: dict[str, Any]) -> bool:
    """Write a generation beside the current one; return whether it was missing. Checks every hash and the name."""
    validated("program", "standard input", staged, STAGED)
    files = [PlacedFile(each["path"], each["mode"], each["sha256"]) for each in staged["files"]]
    contents = {each["path"]: each["text"].encode() for each in staged["files"]}
    for file in files:
        if hashlib.sha256(contents[file.path]).hexdigest() != file.sha256:
            raise GenerationError(f"{file.path} is not the file that was generated: generate and apply again")
    if generation_id(files) != staged["generation"]:
        raise GenerationError(f"the files are not generation {staged['generation']}: generate and apply again")
    return keep(machine, staged["generation"], files, contents)


def keep(machine: LocalHost, name: str, files: list[PlacedFile], contents: dict[str, bytes]) -> bool:
    """Write a generation as a whole: into another directory first, which is then renamed."""
    place = directory(machine, name)
    if (place / "files.json").exists():
        return False
    partial = place.with_name(f"{name}.partial")
    shutil.rmtree(str(partial), ignore_errors=True)
    try:
        for file in files:
            check_path(file.path)
            durable.write(partial / "files" / file.path, contents[file.path], int(file.mode, 8))
        listed = json.dumps([each._asdict() for each in files], indent=1)
        durable.write(partial / "files.json", listed.encode() + b"\n", 0o644)
        durable.rename(partial, place)
    except OSError:
        shutil.rmtree(str(partial), ignore_errors=True)
        raise
    return True


def digest_of(machine: LocalHost, path: str, recorded: str | None) -> str | None:
    """Return the digest of what counts in a file that was recorded by its SHA-256, if a generation of this host has it.

    Otherwise return what was recorded.
    """
    for file in (place / path for place in machine.path(GENERATIONS).glob("*/files")):
        with contextlib.suppress(OSError):
            data = file.read_bytes()
            if hashlib.sha256(data).hexdigest() == recorded:
                return effective.digest(path, data)
    return recorded


def check_path(path: str) -> None:
    """Raise GenerationError if a path leaves the root directory."""
    if path.startswith("/") or ".." in path.split("/") or not path:
        raise GenerationError(f"not a path below the root directory: {path!r}")


def current_turn(plan: dict[str, Any], turn: str | None) -> str | None:
    """Return the turn of a host with this plan: the given one, or the first one if the plan does not have it."""
    return turn if turn in plan["turns"] else next(iter(plan["turns"]), None)


def runs_in(unit: dict[str, Any], turn: str | None) -> bool:
    """Return whether a unit runs in a turn; a unit of no turn always runs."""
    return not unit["turns"] or turn in unit["turns"]


def running_in(plan: dict[str, Any], turn: str | None) -> list[dict[str, Any]]:
    """Return the units that run in a turn, in start order."""
    return [unit for unit in plan["units"] if runs_in(unit, turn)]


def resting_in(plan: dict[str, Any], turn: str | None) -> list[dict[str, Any]]:
    """Return the units of other turns, clients before their servers."""
    return [unit for unit in reversed(plan["units"]) if not runs_in(unit, turn)]
