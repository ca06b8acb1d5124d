"""Find what was changed on a host by hand: files, kernel settings and units that differ from its generation."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import apt, durable, local, settings, state
from ..contract import decoded, validated
from ..generation import PlacedFile
from ..local import LocalHost
from . import actions, store
from .store import GENERATIONS, HOME, PLAN

SAVED = f"{HOME}/saved"
UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system")
SYSCTL_DIRECTORIES = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
"""In the order of systemd-sysctl: a file hides those with its name in later directories; later names win."""
DIFF_LINES = 200


def drift(machine: LocalHost, generation: str) -> dict[str, Any]:
    """Return how the host differs from a generation that is installed on it."""
    listed = files_of(machine, generation)
    base = f"{GENERATIONS}/{generation}/files"
    plan = store.read_plan(PLAN, machine.read(f"{base}/{PLAN}"))
    wanted = {each["key"]: each["value"] for each in plan["sysctls"]}
    ours = {each["path"] for each in listed}
    secrets = local.secret_values(machine.path(local.SECRETS))
    found = [each for file in listed if (each := changed(machine, base, file, secrets))]
    for path in (path for path in drop_ins(machine) if path not in ours):
        text = difference(None, machine.path(path), f"/{path}", secrets)
        found.append(described(path, "foreign drop-in", text))
    sysctls = [*overridden(machine, wanted, ours), *running(machine, wanted)]
    turn = store.current_turn(plan, state.readable(machine).turn)
    units = [step._asdict() for step in actions.steps(machine, plan, turn, tree={})]
    packages = [*apt.drifted(machine, plan["packages"])]
    shown = lines(found, sysctls, units, packages)
    return {"files": found, "sysctls": sysctls, "units": units, "packages": packages, "lines": shown}


def lines(
    files: list[dict[str, str]],
    sysctls: list[dict[str, str]],
    units: list[dict[str, str]],
    packages: list[dict[str, str]],
) -> list[str]:
    """Return the differences as text, each diff below its file."""
    found = []
    for file in files:
        found += [f"{file['kind']}: /{file['path']}", *[f"  {line}" for line in file["diff"].splitlines()]]
    found += [f"{each['key']} is {each['found']} instead of {each['wanted']}: {each['because']}" for each in sysctls]
    found += [f"{each['package']} is {each['found']}, pinned {each['wanted']}: {each['because']}" for each in packages]
    return found + [f"{each['unit']} would {each['action']}: {each['because']}" for each in units]


def save_edited(machine: LocalHost, generation: str) -> list[str]:
    """Copy the installed files of a generation that were edited by hand; return the paths of the new copies."""
    edited = [file for file in files_of(machine, generation) if is_edited(machine, file)]
    found = [save(machine, generation, file["path"]) for file in edited]
    return [path for path in found if path]


def files_of(machine: LocalHost, generation: str) -> list[dict[str, str]]:
    """Return path, mode and hash of the files of a generation."""
    name = f"{GENERATIONS}/{generation}/files.json"
    return list(validated("program", name, decoded(name, machine.read(name)), list[PlacedFile]))


def is_edited(machine: LocalHost, file: dict[str, str]) -> bool:
    """Return whether something else than the file of the generation is at its path."""
    path = machine.path(file["path"])
    if path.is_symlink():
        return True
    return path.is_file() and machine.sha256(file["path"]) != file["sha256"]


def save(machine: LocalHost, generation: str, name: str) -> str:
    """Copy an installed file, readable only by root; return the path of the copy, or an empty text if there is one."""
    source = machine.path(name)
    number, copy = 0, f"{SAVED}/{generation}/{name}"
    while os.path.lexists(machine.path(copy)):
        if same(source, machine.path(copy)):
            return ""
        number += 1
        copy = f"{SAVED}/{generation}/{name}.{number}"
    target = machine.path(copy)
    durable.make_directory(machine.path(SAVED), mode=0o700)
    durable.make_directory(target.parent)
    if source.is_symlink():
        durable.link(target, source.readlink())
    else:
        durable.write(target, source.read_bytes())
    return copy


def same(one: Path, other: Path) -> bool:
    """Return whether two files have the same content, or two links the same target."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return one.read_bytes() == other.read_bytes()


def changed(machine: LocalHost, base: str, file: dict[str, str], secrets: list[str]) -> dict[str, str] | None:
    """Return how an installed file differs from the one of its generation; None if it does not."""
    name, path = file["path"], machine.path(file["path"])
    try:
        status = path.lstat()
    except OSError:
        return described(name, "missing")
    if not stat.S_ISREG(status.st_mode):
        target = f"symbolic link to {path.readlink()}" if path.is_symlink() else "not a regular file"
        return described(name, "edited", local.redacted(target, secrets))
    if machine.sha256(name) != file["sha256"]:
        return described(name, "edited", difference(machine.path(f"{base}/{name}"), path, f"/{name}", secrets))
    if stat.S_IMODE(status.st_mode) != int(file["mode"], 8):
        return described(name, "mode", f"{stat.S_IMODE(status.st_mode):04o} instead of {file['mode']}")
    if status.st_uid != machine.path("/").stat().st_uid:
        return described(name, "owner", f"user ID {status.st_uid} instead of root")
    return None


def described(path: str, kind: str, diff: str = "") -> dict[str, str]:
    """Return one entry of the result."""
    return {"path": path, "kind": kind, "diff": diff}


def difference(pristine: Path | None, installed: Path, name: str, secrets: list[str]) -> str:
    """Return a unified diff without secrets, with at most DIFF_LINES lines."""
    before, after = "" if pristine is None else text_of(pristine), text_of(installed)
    if before is None or after is None:
        return "not a text file"
    # Redacted before the comparison, because a diff puts a sign before each line of a secret.
    old, new = (local.redacted(text, secrets).splitlines() for text in (before, after))
    label = "/dev/null" if pristine is None else f"{name} (generation)"
    found = list(difflib.unified_diff(old, new, label, f"{name} (this host)", lineterm=""))
    left = len(found) - DIFF_LINES
    shown = [*found[:DIFF_LINES], f"… {left} more lines"] if left > 0 else found
    return "\n".join(shown) or "only secrets differ"


def text_of(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read as text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return None if "\0" in text else text


def drop_ins(machine: LocalHost) -> Iterator[str]:
    """Return the drop-ins of the units whose names begin with `sparkiac`."""
    for directory in UNIT_DIRECTORIES:
        for path in sorted(machine.path(directory).glob("sparkiac*.d/*.conf")):
            yield str(path.relative_to(machine.root))


def overridden(machine: LocalHost, wanted: dict[str, str], ours: set[str]) -> Iterator[dict[str, str]]:
    """Return the files of others that set a kernel setting of the generation, and which value holds after a boot."""
    own = [Path(path).name for path in ours if path.startswith("etc/sysctl.d/")]
    for path in sysctl_files(machine):
        if path in ours:
            continue
        for key, value in set_in(machine, path).items():
            if key not in wanted or value.split() == wanted[key].split():
                continue
            later = all(Path(path).name > each for each in own)
            holds = value if later else wanted[key]
            because = f"/{path} sets {value} and is read {'later' if later else 'earlier'}: {holds} holds after a boot"
            yield {"key": key, "wanted": wanted[key], "found": value, "because": because}


def sysctl_files(machine: LocalHost) -> list[str]:
    """Return the files that systemd-sysctl reads, in its order."""
    found: dict[str, Path] = {}
    for directory in SYSCTL_DIRECTORIES:
        for path in machine.path(directory).glob("*.conf"):
            found.setdefault(path.name, path)
    return [str(found[name].relative_to(machine.root)) for name in sorted(found)]


def set_in(machine: LocalHost, name: str) -> dict[str, str]:
    """Return the settings of a file of sysctl.d. Patterns are left out, because a setting with a full name wins."""
    found = {}
    for line in (text_of(machine.path(name)) or "").splitlines():
        key, separator, value = line.strip().partition("=")
        if separator and not key.startswith(("#", ";")):
            found[dotted(key.strip().lstrip("-"))] = value.strip()
    return found


def dotted(key: str) -> str:
    """Return the name of a kernel setting with dots; with slashes as separators, dots are part of a name."""
    first = next((char for char in key if char in "./"), ".")
    return key.translate(str.maketrans("./", "/.")) if first == "/" else key


def running(machine: LocalHost, wanted: dict[str, str]) -> Iterator[dict[str, str]]:
    """Return the kernel settings whose running value differs."""
    for key, value in wanted.items():
        if not actions.same_sysctl(machine, key, value):
            found = settings.value_of(machine, key) or "unknown"
            because = f"the {settings.owner(key)} runs with another value"
            yield {"key": key, "wanted": value, "found": found, "because": because}
