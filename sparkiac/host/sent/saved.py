"""Save and restore what no apply can bring back to this host: its secrets, its history, and data of services.

saved look WANTED              print the items: the secrets, the history, and the directories of WANTED that exist
saved save WANTED              print them as a tar archive, in blocks that begin with their length, then the items
saved restore WANTED ITEMS     put items back from the tar archive on standard input

A unit whose data are read or replaced is stopped meanwhile: a database that is written to cannot be copied.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import stat
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .. import durable
from ..contract import validated
from ..local import SECRETS, LocalHost
from ..switch import lease
from ..switch.history import HISTORY

BLOCK = 1 << 20
LENGTH = 4
"""Bytes of the length before each block."""
NEW, FORMER = ".restoring", ".replaced"
"""Suffixes of an item that arrives, and of one that it has replaced."""


class DataDirectory(NamedTuple):
    """A directory with data of a service."""

    path: str
    unit: str
    user: str | None
    """Its owner, whose number may be another one on another host; None for the numbers of a container."""


class SavedItem(NamedTuple):
    """A file or directory that is saved as a whole."""

    path: str
    sha256: str
    """Hash of the names, modes and contents in it."""
    size_bytes: int
    changed: int
    """When a file in it was changed last, in seconds since 1970."""


class SavedError(RuntimeError):
    """The host cannot be saved or restored; the text says why and what to do."""


def existing(machine: LocalHost, wanted: list[DataDirectory]) -> list[str]:
    """Return the paths of the items that this host has."""
    folder = machine.path(SECRETS)
    secrets = [f"{SECRETS}/{each.name}" for each in sorted(folder.iterdir())] if folder.is_dir() else []
    paths = [*secrets, HISTORY, *(each.path for each in wanted)]
    return [path for path in paths if machine.path(path).exists() and not path.endswith((NEW, FORMER))]


def tree(top: Path) -> Iterator[Path]:
    """Yield a file or directory and all that is in it, sorted, without sockets, pipes and devices."""
    mode = top.lstat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode):
        yield top
    if stat.S_ISDIR(mode):
        for each in sorted(top.iterdir()):
            yield from tree(each)


def described(path: str, top: Path) -> SavedItem:
    """Return an item; `top` is where it is."""
    total, size, changed = hashlib.sha256(), 0, 0
    for each in tree(top):
        status = each.lstat()
        content = os.fsencode(each.readlink()) if each.is_symlink() else b""
        if stat.S_ISREG(status.st_mode):
            content = digest(each)
            size, changed = size + status.st_size, max(changed, int(status.st_mtime))
        name = os.fsencode(each.relative_to(top))
        total.update(b"%d %o %d " % (len(name), status.st_mode, len(content)) + name + content)
    return SavedItem(path, total.hexdigest(), size, changed)


def digest(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.digest()


@contextmanager
def stopped(machine: LocalHost, unit: str | None) -> Iterator[None]:
    """Stop a unit that runs, and start it again at the end."""
    if unit is None or machine.run("systemctl", "is-active", "--quiet", unit).code:
        yield
        return
    require(machine, "systemctl", "stop", unit)
    try:
        yield
    finally:
        require(machine, "systemctl", "start", unit)


def require(machine: LocalHost, *argv: str) -> None:
    """Run a command that must succeed."""
    done = machine.run(*argv)
    if done.code:
        raise SavedError(f"`{' '.join(argv)}` failed: {' '.join(done.errors.split())}")


class Blocks:
    """Writes what it gets with its length before it, so that the reader knows where it ends."""

    def __init__(self, out: BinaryIO) -> None:
        """Write to `out`."""
        self.out = out

    def write(self, data: bytes) -> int:
        """Write a block."""
        self.out.write(len(data).to_bytes(LENGTH, "big") + data)
        return len(data)


def save(machine: LocalHost, wanted: list[DataDirectory], out: BinaryIO) -> None:
    """Write the items of this host as a tar archive, an empty block, and a line about the items."""
    units = {each.path: each.unit for each in wanted}
    items = []
    with tarfile.open(fileobj=Blocks(out), mode="w|", bufsize=BLOCK, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for path in existing(machine, wanted):
            top = machine.path(path)
            with stopped(machine, units.get(path)):
                for each in tree(top):
                    archive.inodes = {}  # a second name of a file is a file of its own
                    name = f"{path.lstrip('/')}/{each.relative_to(top)}".removesuffix("/.")
                    archive.add(each, name, recursive=False)
                items.append(described(path, top)._asdict())
    Blocks(out).write(b"")
    out.write(json.dumps(items).encode())
    out.flush()


def restore(machine: LocalHost, wanted: list[DataDirectory], items: list[SavedItem], source: BinaryIO) -> None:
    """Put items back from an archive; each replaces what is there when all of them have arrived as they were saved."""
    data = {each.path: each for each in wanted}
    chosen = {each.path.lstrip("/"): each for each in items}
    for each in items:
        remove(machine.path(each.path + NEW))
        durable.make_directory(machine.path(SECRETS).parent)
        durable.make_directory(machine.path(each.path).parent, 0o700 if each.path.startswith(SECRETS) else 0o755)
    folders = []
    with tarfile.open(fileobj=source, mode="r|", bufsize=BLOCK) as archive:
        for member in archive:
            item = next((each for path, each in chosen.items() if f"{member.name}/".startswith(f"{path}/")), None)
            if item is not None:
                place = placed(machine.path(item.path + NEW), member.name[len(item.path) :])
                extract(archive, member, place)
                owned = data[item.path].user if item.path in data else None
                folders.append((place, member, owner(member, owned)))
    for place, member, ids in reversed(folders):
        dress(place, member, ids)
    for item in items:
        new = machine.path(item.path + NEW)
        if not new.exists() or described(item.path, new)._replace(changed=item.changed) != item:
            raise SavedError(f"{item.path} did not arrive as it was saved; nothing was replaced: try again")
    os.sync()
    for item in items:
        with stopped(machine, data[item.path].unit if item.path in data else None):
            swap(machine.path(item.path))


def placed(top: Path, below: str) -> Path:
    """Return the path of a member; refuse one that would be outside of its item."""
    path = top.joinpath(*Path(below.lstrip("/")).parts)
    inside = [each for each in path.parents if each == top or top in each.parents]
    if ".." in path.parts or any(each.is_symlink() for each in inside):
        raise SavedError(f"the archive has the path {below!r}, which is not in {top}")
    return path


def extract(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """Write a member, for now readable only by root."""
    content = archive.extractfile(member) if member.isreg() else None
    if content is not None:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            shutil.copyfileobj(content, file, BLOCK)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif member.isdir():
        place.mkdir(mode=0o700)


def owner(member: tarfile.TarInfo, user: str | None) -> tuple[int, int]:
    """Return user and group of a member: those of a user by name, for a program; else its numbers."""
    if user is None or member.uname != user:
        return member.uid, member.gid
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        raise SavedError(f"this host has no user {user}, whose data are restored: create it first") from None
    return found.pw_uid, found.pw_gid


def dress(place: Path, member: tarfile.TarInfo, ids: tuple[int, int]) -> None:
    """Give a member its owner, mode and time."""
    os.chown(place, *ids, follow_symlinks=False)
    if not member.issym():
        place.chmod(member.mode & 0o7777)
    os.utime(place, (member.mtime, member.mtime), follow_symlinks=False)


def swap(place: Path) -> None:
    """Replace an item by the one that has arrived."""
    new, former = place.with_name(place.name + NEW), place.with_name(place.name + FORMER)
    if place.exists():
        remove(former)
        durable.rename(place, former)
    durable.rename(new, place)
    remove(former)


def remove(path: Path) -> None:
    """Remove a file or directory that may be missing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main(argv: list[str]) -> int:
    """Do what the arguments say."""
    machine, (verb, *texts) = LocalHost(), argv
    data, *given = [json.loads(each) for each in texts]
    wanted = [DataDirectory(**each) for each in validated("program", "WANTED", data, list[DataDirectory])]
    try:
        if verb != "look":
            lease.require(machine, "")
        if verb == "save":
            save(machine, wanted, sys.stdout.buffer)
        elif verb == "restore":
            items = [SavedItem(**each) for each in validated("program", "ITEMS", given[0], list[SavedItem])]
            restore(machine, wanted, items, sys.stdin.buffer)
        else:
            found = [described(path, machine.path(path))._asdict() for path in existing(machine, wanted)]
            print(json.dumps(found))  # noqa: T201
    except PermissionError as error:
        sys.stderr.write(f"{error.filename} cannot be read or written: it needs root, or sudo without a password\n")
        return 1
    except (SavedError, lease.LeaseHeldError, OSError, tarfile.TarError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
