"""Layers of images: tar files of Python and programs from the hosts' own root, and of what a test adds."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tests.e2e.bed import rootfs
from tests.e2e.bed.shell import run

if TYPE_CHECKING:
    from collections.abc import Callable

Entry = tuple[tarfile.TarInfo, bytes]
"""A file of a layer, and its content."""
Layer = tuple[bytes, str]
"""A compressed layer, and the digest of what it unpacks to."""
PROGRAMS = ("cat", "dash", "env", "id", "ls", "sh", "sleep")
# Parts of the standard library that a server does not need.
LEFT_OUT = ("config-", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo")


def kept() -> Path:
    """Return where images are kept that are made of the present root; they go when it goes."""
    directory = rootfs.built().with_suffix(".images")
    directory.mkdir(exist_ok=True)
    return directory


def base() -> Layer:
    """Return the layer of Python and a shell."""
    return built("base", Path(__file__), lambda: _python_files(rootfs.built()))


def built(name: str, made_by: Path, files: Callable[[], list[Entry]]) -> Layer:
    """Return a layer, building it when the program that makes it has not built it yet for the present root."""
    version = hashlib.sha256(made_by.read_bytes()).hexdigest()[:16]
    archive = kept() / f"{name}-{version}.tar.gz"
    if not archive.exists():
        packed, _ = layer(files())
        scratch = archive.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(packed)
        scratch.rename(archive)
    packed = archive.read_bytes()
    return packed, f"sha256:{hashlib.sha256(gzip.decompress(packed)).hexdigest()}"


def _python_files(root: Path) -> list[Entry]:
    files = [
        _directory("tmp", mode=0o1777),
        file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"),
        file("etc/group", b"root:x:0:\nnogroup:x:65534:\n"),
    ]
    files += [from_root(root, name) for name in _paths(root)]
    return files


def _paths(root: Path) -> list[str]:
    """Return what Python and the few programs consist of, links of a merged /usr included."""
    python = target(root, "/usr/bin/python3")
    library = root / "usr/lib" / PurePosixPath(python).name
    names = {"bin", "lib", "lib64", "sbin", "usr/bin/python3", python}
    names |= {f"usr/bin/{name}" for name in PROGRAMS}
    for directory, below, files in os.walk(library):
        if Path(directory) == library:
            below[:] = [name for name in below if not name.startswith(LEFT_OUT)]
        names |= {str((Path(directory) / name).relative_to(root)) for name in files}
    binaries = [f"/{name}" for name in names if name.startswith("usr/bin/") or name.endswith(".so")]
    linked = run(["chroot", root, "ldd", *sorted(binaries)], check=False).stdout.split()
    for name in {word for word in linked if re.fullmatch(r"/\S+\.so[.\d]*", word)}:
        # As merged: the loader asks for /lib64/…, and the file is at /usr/lib64/….
        merged = name.lstrip("/") if name.startswith("/usr/") else f"usr{name}"
        names |= {merged, target(root, name)}
    return sorted(name for name in names if (root / name).is_symlink() or (root / name).is_file())


def target(root: Path, name: str) -> str:
    """Return to which file of the root a link leads."""
    return run(["chroot", root, "readlink", "-f", name]).stdout.strip().lstrip("/")


def from_root(root: Path, name: str) -> Entry:
    """Return a file or a link of the root."""
    path = root / name
    if path.is_symlink():
        return link(name, str(path.readlink()))
    # Compiled modules are valid only beside a source of the very time they name, and a container
    # with a read-only root cannot compile its own.
    status = path.stat()
    return file(name, path.read_bytes(), mode=stat.S_IMODE(status.st_mode), mtime=int(status.st_mtime))


def _directory(name: str, *, mode: int) -> Entry:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    return entry, b""


def link(name: str, target: str) -> Entry:
    """Return a link."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry, b""


def file(name: str, content: bytes, *, mode: int = 0o644, mtime: int = 0) -> Entry:
    """Return a file."""
    entry = tarfile.TarInfo(name)
    entry.mode, entry.size, entry.mtime = mode, len(content), mtime
    return entry, content


def layer(files: list[Entry]) -> Layer:
    """Return a compressed layer and the digest of what it unpacks to."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry, content in files:
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), 1, mtime=0), f"sha256:{hashlib.sha256(raw.getvalue()).hexdigest()}"
