"""The files of packages on this host: which ones a move needs, whether they can be had, and whether they are whole."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .. import durable, local, software
from ..local import LocalHost
from . import checks
from .trial import TrialError

FOLDER = "/var/lib/sparkiac/os"
OLD, NEW = "old", "new"
ARCHIVES = "/var/cache/apt/archives"
MODULES = re.compile(r"linux-(?:modules|objects|signatures)-nvidia-(?!fs).+")
"""Packages of a kernel that have the module of a driver."""
DRIVER = re.compile(r"(?:lib)?nvidia-(?!container|docker).+|cuda-drivers.*|xserver-xorg-video-nvidia-.+|linux-.+")
"""Packages after which only a boot shows whether they work."""
PLANNED = re.compile(r"(Inst|Remv) (\S+)(?: \[([^\]]+)\])?(?: \((\S+) .*)?")
LISTED = re.compile(r"'\S+' (\S+) (\d+) .*")
UNPACKED = 4
"""Room for the files, and for what they unpack to beside the former ones."""


class PackageMove(NamedTuple):
    """What changes, with versions: the packages before and after it."""

    old: dict[str, str]
    new: dict[str, str]

    @property
    def gone(self) -> list[str]:
        """Return the packages that are removed."""
        return sorted({*self.old} - {*self.new})

    @property
    def reboots(self) -> bool:
        """Return whether the driver changes."""
        return any(DRIVER.fullmatch(name) for name in (*self.old, *self.new))


def wanted(machine: LocalHost, packages: dict[str, str]) -> dict[str, str]:
    """Return the pinned packages that are not installed so, without those of the kernel itself."""
    there = software.installed(machine)
    return {name: each for name, each in packages.items() if movable(name, each) and there.get(name) != each}


def movable(name: str, version: str) -> bool:
    """Return whether a package is one of driver, container toolkit or Docker."""
    return software.related(name, version) and (not checks.kernel_family(name) or bool(MODULES.fullmatch(name)))


def planned(machine: LocalHost, packages: dict[str, str]) -> PackageMove:
    """Return what APT would change to install packages; raise TrialError if it refuses."""
    fresh = ("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")  # not what was before a dpkg just now
    options = ("--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages")
    done = machine.run("apt-get", *fresh, "install", "--simulate", *options, *checks.words(packages))
    if done.code:
        raise TrialError(f"APT cannot install the packages of the set: {' '.join(done.errors.split())}")
    found = [each.groups() for line in done.output.splitlines() if (each := PLANNED.fullmatch(line))]
    new = {name: version for kind, name, _, version in found if kind == "Inst"}
    if left := {*packages.items()} - {*new.items()}:
        raise TrialError(f"APT would not install {' '.join(f'{name} {version}' for name, version in sorted(left))}")
    return PackageMove({name: former for _, name, former, _ in found if former}, new)


def refusals(machine: LocalHost, move: PackageMove) -> list[str]:
    """Return why packages are not moved on this host."""
    others = [name for name, version in move.old.items() if not movable(name, version)]
    missing, sizes = [], []
    for kind, side in (("installed now", move.old), ("pinned", move.new)):
        listed = sources(machine, side)
        for name, version in side.items():
            if file := found(listed, name, version):
                sizes.append(listed[file])
            elif path := cached(machine, name, version):
                sizes.append(path.stat().st_size)
            else:
                missing.append(f"no repository has {name} {version}, which is {kind}; put its .deb into {ARCHIVES}")
    return [
        *(f"the installation would change {name}, which is none of driver, toolkit and Docker" for name in others),
        *missing,
        *short(machine, UNPACKED * sum(sizes)),
    ]


def short(machine: LocalHost, needed: int) -> Iterator[str]:
    """Yield where there is too little room."""
    for place in (FOLDER, "/usr"):
        free = local.free_bytes(machine.path(place))
        if free < needed:
            yield f"{place} has {free // checks.MIB} MiB free, {needed // checks.MIB} MiB are needed"


def sources(machine: LocalHost, packages: dict[str, str]) -> dict[str, int]:
    """Return file → size of the packages that a repository has."""
    output = machine.run("apt-get", "download", "--print-uris", *checks.words(packages)).output if packages else ""
    return {each[1]: int(each[2]) for line in output.splitlines() if (each := LISTED.fullmatch(line))}


def prefix(name: str, version: str) -> str:
    """Return the start of the name of a file, as APT writes it."""
    return f"{name}_{version.replace(':', '%3a')}_"


def found(files: dict[str, int], name: str, version: str) -> str | None:
    """Return the file of a package."""
    return next((file for file in files if file.startswith(prefix(name, version))), None)


def cached(machine: LocalHost, name: str, version: str) -> Path | None:
    """Return the file of a package that APT has kept and that can be unpacked."""
    kept = machine.path(ARCHIVES).glob(f"{prefix(name, version)}*.deb")
    return next((path for path in kept if machine.run("dpkg-deb", "--contents", str(path)).code == 0), None)


def fetched(machine: LocalHost, move: PackageMove) -> dict[str, str]:
    """Bring the files of both sets onto the disk; return path → SHA-256, or raise TrialError if one is missing."""
    files = {}
    for side, packages in ((OLD, move.old), (NEW, move.new)):
        folder = machine.path(f"{FOLDER}/{side}")
        shutil.rmtree(folder, ignore_errors=True)
        durable.make_directory(folder)
        listed, errors = sources(machine, packages), ""
        there = {name: each for name, each in packages.items() if found(listed, name, each)}
        if there:
            errors = machine.run("env", f"--chdir={folder}", "apt-get", "download", *checks.words(there)).errors
        for name in {*packages} - {*there}:
            if path := cached(machine, name, packages[name]):
                shutil.copyfile(path, folder / path.name)
        names = {path.name: 0 for path in sorted(folder.iterdir())}
        for name, version in packages.items():
            file = found(names, name, version)
            if file is None:
                raise TrialError(f"{name} {version} cannot be downloaded: {' '.join(errors.split())}")
            files[f"{side}/{file}"] = machine.sha256(f"{FOLDER}/{side}/{file}")
    machine.run("sync", "--file-system", str(machine.path(FOLDER)))
    return files


def damaged(machine: LocalHost, files: dict[str, str], side: str) -> list[str]:
    """Return the files that are not what was recorded: those of the former set, and of the one that is installed."""
    needed = {path: each for path, each in files.items() if path.startswith((f"{OLD}/", f"{side}/"))}
    return [
        f"{FOLDER}/{path} is damaged" for path, each in needed.items() if machine.sha256(f"{FOLDER}/{path}") != each
    ]


def paths(machine: LocalHost, files: dict[str, str], side: str) -> list[str]:
    """Return where the files of one set lie."""
    return [str(machine.path(f"{FOLDER}/{path}")) for path in files if path.startswith(f"{side}/")]
