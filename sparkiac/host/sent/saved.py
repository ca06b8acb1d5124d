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
import signal
import stat
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, NamedTuple

from .. import durable, secrets
from ..contract import validated
from ..local import SECRETS, LocalHost
from ..switch import lease
from ..switch.history import HISTORY

BLOCK = 1 << 20
LENGTH = 4
"""Bytes of the length before each block."""
NEW = ".restoring"
"""Suffix of an item that arrives."""


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
    files = [f"{SECRETS}/{each.name}" for each in sorted(folder.iterdir())] if folder.is_dir() else []
    paths = [*files, HISTORY, *(each.path for each in wanted)]
    return [path for path in paths if machine.path(path).exists() and not path.endswith(NEW)]


def tree(top: Path) -> Iterator[Path]:
    """Yield a file or directory and all that is in it, sorted, without sockets, pipes and devices."""
    mode = top.lstat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode):
        yield top
    if stat.S_ISDIR(mode):
        for each in sorted(top.iterdir()):
            yield from tree(each)


def described(machine: LocalHost, path: str, suffix: str = "") -> SavedItem:
    """Return an item as it is on this host; with a suffix, one that has arrived."""
    top = machine.path(path + suffix)
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


def save(
    machine: LocalHost, paths: list[str], units: dict[str, str], write: Callable[[bytes], object]
) -> list[SavedItem]:
    """Write a tar archive of these paths, and return the items; `units` are those that use a path."""
    items = []
    sink: Any = SimpleNamespace(write=write)
    with tarfile.open(fileobj=sink, mode="w|", bufsize=BLOCK, format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            top = machine.path(path)
            with stopped(machine, units.get(path)):
                for each in tree(top):
                    archive.inodes = {}  # type: ignore[attr-defined]  # a second name of a file is a file of its own
                    name = f"{path.lstrip('/')}/{each.relative_to(top)}".removesuffix("/.")
                    archive.add(each, name, recursive=False)
                items.append(described(machine, path))
    return items


def restore(machine: LocalHost, wanted: list[DataDirectory], items: list[SavedItem], source: BinaryIO) -> None:
    """Put items back from an archive; each replaces what is there when all of them have arrived as they were saved."""
    data = {each.path: each for each in wanted}
    chosen = {each.path.lstrip("/"): each.path for each in items}
    for path in chosen.values():
        require_user(data.get(path))
        remove(machine.path(path + NEW))
        make_parent(machine, path)
    with tarfile.open(fileobj=source, mode="r|", bufsize=BLOCK) as archive:
        # The filters of newer versions leave out owners; what this program has written needs none.
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        for member in archive:
            name = next((each for each in chosen if f"{member.name}/".startswith(f"{each}/")), None)
            if name is not None:
                member.name = f"{name}{NEW}{member.name[len(name) :]}"
                owned = data.get(chosen[name])
                archive.extract(member, machine.root, numeric_owner=owned is None or owned.user is None)
    for item in items:
        if not machine.path(item.path + NEW).exists() or described(machine, item.path, NEW)[:3] != item[:3]:
            raise SavedError(f"{item.path} did not arrive as it was saved; nothing was replaced: try again")
    os.sync()
    for path in chosen.values():
        with stopped(machine, data[path].unit if path in data else None):
            remove(machine.path(path))
            durable.rename(machine.path(path + NEW), machine.path(path))
    if machine.path(SECRETS).is_symlink():  # to memory
        secrets.keep(machine, {})


def require_user(data: DataDirectory | None) -> None:
    """Raise SavedError if the owner of data does not exist on this host."""
    try:
        pwd.getpwnam(data.user if data and data.user else "root")
    except KeyError:
        raise SavedError(
            f"this host has no user {data and data.user}, whose data are restored: create it first"
        ) from None


def make_parent(machine: LocalHost, path: str) -> None:
    """Make the directory of an item; only root can enter that of secrets."""
    parent = machine.path(path).parent
    durable.make_directory(parent.parent)
    durable.make_directory(parent, 0o700 if parent.name == Path(SECRETS).name else 0o755)


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
    out = sys.stdout.buffer
    for number in (signal.SIGHUP, signal.SIGTERM):  # a stopped unit starts again also then
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        if verb == "restore":
            lease.require(machine, "")
            items = [SavedItem(**each) for each in validated("program", "ITEMS", given[0], list[SavedItem])]
            restore(machine, wanted, items, sys.stdin.buffer)
            return 0
        paths = existing(machine, wanted)
        if verb == "save":
            lease.require(machine, "")
            units = {each.path: each.unit for each in wanted}
            found = save(machine, paths, units, lambda block: out.write(len(block).to_bytes(LENGTH, "big") + block))
            out.write(bytes(LENGTH))
        else:
            found = [described(machine, path) for path in paths]
        out.write(json.dumps([each._asdict() for each in found]).encode())
        out.flush()
    except PermissionError as error:
        sys.stderr.write(f"{error.filename} cannot be read or written: it needs root, or sudo without a password\n")
        return 1
    except (SavedError, secrets.SecretsError, lease.LeaseHeldError, OSError, tarfile.TarError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
