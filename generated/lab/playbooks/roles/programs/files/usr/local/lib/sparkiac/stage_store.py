"""What a model store holds: the files of a manifest, each verified once and remembered, in the layout engines read."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from contract import ContractError, agreed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MANIFESTS = Path("/etc/sparkiac")
GIB = 1 << 30
CHUNK_BYTES = 1 << 20
AT_ONCE = 4
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
COMMIT = re.compile(r"[0-9a-f]{40}")
LAYOUTS = ("hub", "directory")
STORES = [{"path": str, "models": [{"model": str, "commit": str, "layout": str, "manifest": str}]}]
MANIFEST = {"model": str, "commit": str, "gated": bool, "files": {str: {"sha256": str, "size_bytes": int}}}
SHA256 = re.compile(r"[0-9a-f]{64}")


class StageError(Exception):
    """What is wrong, and what to do about it, in a sentence."""


class File(NamedTuple):
    """One file of a model."""

    path: str
    size_bytes: int
    sha256: str


class Model(NamedTuple):
    """One model in one store."""

    store: Path
    name: str
    commit: str
    layout: str
    gated: bool
    files: tuple[File, ...]

    @property
    def id(self) -> str:
        """Name it with its commit."""
        return f"{self.name}@{self.commit}"


class Found(NamedTuple):
    """Where the files of a model are that are right, and what is wrong with the others, by their paths."""

    places: dict[str, Path]
    wrong: dict[str, str]


def gib(size_bytes: float) -> str:
    """Write a size for people."""
    return f"{size_bytes / GIB:.1f} GiB" if size_bytes >= GIB / 10 else f"{size_bytes} bytes"


def read_manifest(name: str, root: Path = MANIFESTS) -> str:
    """Return the text of a manifest on this host."""
    return (root / name).read_text(encoding="utf-8")


def read_models(stores: str, read: Callable[[str], str]) -> list[Model]:
    """Read the stores of a host, as its variables have them, and the manifests that they name."""
    try:
        return [
            read_model(Path(store["path"]), entry, json.loads(read(entry["manifest"])))
            for store in agreed("program", "stores", json.loads(stores), STORES)
            for entry in store["models"]
        ]
    except ContractError:
        raise
    except (OSError, ValueError) as error:
        message = f"no usable list of models or manifest: {type(error).__name__}: {error}"
        raise StageError(message) from None


def read_model(store: Path, entry: dict[str, Any], manifest: dict[str, Any]) -> Model:
    """Join what a host wants with the manifest of the model; names that lead elsewhere are refused."""
    agreed("program", entry["manifest"], manifest, MANIFEST)
    files = tuple(File(path, each["size_bytes"], each["sha256"]) for path, each in manifest["files"].items())
    model = Model(store, entry["model"], entry["commit"], entry["layout"], manifest["gated"], files)
    same = (manifest["model"], manifest["commit"]) == (model.name, model.commit) and model.layout in LAYOUTS
    good = NAME.fullmatch(model.name) and COMMIT.fullmatch(model.commit) and ".." not in model.name
    if not (same and good and files and store.is_absolute()):
        message = f"{entry['manifest']} is not the manifest of {model.id}, or lists no file"
        raise ValueError(message)
    for file in files:
        parts = PurePosixPath(file.path).parts
        odd = file.path.startswith("/") or "\0" in file.path or {"..", "."} & set(file.path.split("/"))
        if not parts or odd or not SHA256.fullmatch(file.sha256) or not 0 <= file.size_bytes < 1 << 60:
            message = f"{entry['manifest']}: not a file of a model: {file}"
            raise ValueError(message)
    return model


class Stamps:
    """Which files of a commit were hashed, and what they were then. One that is as it was is not read again.

    They are known by their inodes: a second name for a file needs no second reading.
    """

    def __init__(self, base: Path, commit: str) -> None:
        """Read what is remembered; anything that cannot be read is hashed anew."""
        self.path = base / f"{commit}.json"
        self.former: dict[str, list[object]] = {}
        self.entries: dict[str, list[object]] = {}
        with contextlib.suppress(OSError, ValueError, TypeError):
            self.former = dict(json.loads(self.path.read_text(encoding="utf-8")))

    def knows(self, status: os.stat_result, file: File) -> bool:
        """Tell whether this very file was found right, and has not been touched since."""
        entry = [file.sha256, status.st_size, status.st_mtime_ns]
        known = entry in (self.entries.get(str(status.st_ino)), self.former.get(str(status.st_ino)))
        if known:
            self.entries[str(status.st_ino)] = entry
        return known

    def add(self, status: os.stat_result, file: File) -> None:
        """Remember a file that was found right."""
        self.entries[str(status.st_ino)] = [file.sha256, status.st_size, status.st_mtime_ns]

    def forget(self, status: os.stat_result) -> None:
        """Forget a file: it is to be read again."""
        self.former.pop(str(status.st_ino), None)

    def write(self) -> None:
        """Write what was seen in this run, when it differs from what was written before."""
        if self.entries != self.former:
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(self.entries[key])}" for key in sorted(self.entries))
            write_text(self.path, f"{{\n{lines}\n}}\n")
            self.former = dict(self.entries)


def make_directory(path: Path) -> None:
    """Make a directory and those above it; they belong to whoever owns the first that was there."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        give(path)


def give(path: Path) -> None:
    """Give a file to the owner of its directory, so that a user's cache stays that user's."""
    owner = path.parent.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def open_own(path: Path, flags: int) -> int:
    """Open a file of ours; what its directory's owner put in its place, such as a link elsewhere, is refused.

    This runs as root, in directories that may be a user's.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENXIO}:
            raise
    else:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            return descriptor
        os.close(descriptor)
    message = f"{path} is not a file of its own, but a link or something else: look whose it is, and remove it"
    raise StageError(message)


def write_text(path: Path, text: str) -> None:
    """Write a small file as a whole: there is the former one, or this one."""
    make_directory(path.parent)
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    with os.fdopen(open_own(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(text)
        sync(file.fileno())
    give(scratch)
    replace(scratch, path)


def replace(source: Path, target: Path) -> None:
    """Rename, over what is there, so that it outlasts a loss of power."""
    source.replace(target)
    descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    """Bring a file to the disk, and out of the memory that the GPU shares with the page cache."""
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def locked(base: Path) -> Iterator[None]:
    """Keep a second run away from a model, in a directory that is ours."""
    make_directory(base)
    with os.fdopen(open_own(base / "lock", os.O_RDWR | os.O_CREAT), "r+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            message = f"process {lock.read().strip() or 'unknown'} works in {base.parent}: wait for it, or end it"
            raise StageError(message) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def hash_file(place: Path) -> tuple[str, os.stat_result | None]:
    """Give a file's sha256 and what it was; None when it changed under the reading."""
    digest = hashlib.sha256()
    with place.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
        after = os.fstat(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return digest.hexdigest(), after if same else None


def look_at(place: Path, file: File, stamps: Stamps, *, trust: bool) -> str:
    """Say what is wrong with a file at a place: nothing, or a few words."""
    try:
        status = place.stat()
    except OSError:
        return "missing"
    if trust and stamps.knows(status, file):
        return ""
    stamps.forget(status)
    if not place.is_file() or status.st_size != file.size_bytes:
        return f"{status.st_size} of {file.size_bytes} bytes"
    digest, after = hash_file(place)
    if digest != file.sha256:
        return f"sha256 {digest} instead of {file.sha256}"
    if after:
        stamps.add(after, file)
    return ""


def examine(model: Model, candidates: Callable[[File], Iterator[Path]], stamps: Stamps, *, trust: bool = True) -> Found:
    """Find every file of a model that is right, wherever the layout allows it to be."""

    def find(file: File) -> tuple[Path | None, str]:
        worst = "missing"
        for place in candidates(file):
            wrong = look_at(place, file, stamps, trust=trust)
            if not wrong:
                return place, ""
            worst = wrong if worst == "missing" else worst
        return None, worst

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(zip(model.files, pool.map(find, model.files), strict=True))
    return Found(
        {file.path: place for file, (place, _) in results if place},
        {file.path: wrong for file, (place, wrong) in results if not place},
    )


def free_bytes(path: Path) -> int:
    """Return what a file system has left for a directory that is there or will be."""
    status = os.statvfs(next(each for each in (path, *path.parents) if each.is_dir()))
    return status.f_bavail * status.f_frsize
