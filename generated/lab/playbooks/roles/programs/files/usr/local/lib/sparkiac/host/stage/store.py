"""Verify the files of a model store against their manifests, and remember which files were verified."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from .. import durable
from ..contract import ContractError, validated
from ..generation import ModelManifest, OwnFolder, StagedStore

MANIFESTS = Path("/etc/sparkiac")
GIB = 1 << 30
CHUNK_BYTES = 1 << 20
AT_ONCE = 4
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
COMMIT = re.compile(r"[0-9a-f]{40}")
LAYOUTS = ("hub", "directory")
SHA256 = re.compile(r"[0-9a-f]{64}")


class StageError(Exception):
    """An error with a message that says what is wrong and what to do."""


class ModelFile(NamedTuple):
    """One file of a model."""

    path: str
    size_bytes: int
    sha256: str


class StagedModel(NamedTuple):
    """One model in one store."""

    store: Path
    name: str
    commit: str
    layout: str
    gated: bool
    files: tuple[ModelFile, ...]
    own: OwnFolder | None = None
    """Where its files lie if no hub has them."""

    @property
    def id(self) -> str:
        """Return the name with its commit."""
        return f"{self.name}@{self.commit}"


class StoreScan(NamedTuple):
    """Result of the verification of a model: path → place of each right file, path → fault of each other file."""

    places: dict[str, Path]
    wrong: dict[str, str]


def gib(size_bytes: float) -> str:
    """Format a size in GiB, or in bytes if it is small."""
    return f"{size_bytes / GIB:.1f} GiB" if size_bytes >= GIB / 10 else f"{size_bytes} bytes"


def read_manifest(name: str, root: Path = MANIFESTS) -> str:
    """Return the text of a manifest on this host."""
    return (root / name).read_text(encoding="utf-8")


def read_models(stores: str, read: Callable[[str], str]) -> list[StagedModel]:
    """Read the stores of a host from the argument --stores, and the manifests of their models."""
    try:
        return [
            read_model(Path(store["path"]), entry, json.loads(read(entry["manifest"])))
            for store in validated("program", "stores", json.loads(stores), list[StagedStore])
            for entry in store["models"]
        ]
    except ContractError:
        raise
    except (OSError, ValueError) as error:
        raise StageError(f"cannot read the list of models or a manifest: {type(error).__name__}: {error}") from None


def read_model(store: Path, entry: dict[str, Any], manifest: dict[str, Any]) -> StagedModel:
    """Combine an entry of a store with the manifest of the model; reject names with `..` and other invalid values."""
    validated("program", entry["manifest"], manifest, ModelManifest)
    files = tuple(ModelFile(path, each["size_bytes"], each["sha256"]) for path, each in manifest["files"].items())
    own = OwnFolder(**entry["own"]) if entry["own"] else None
    model = StagedModel(store, entry["model"], entry["commit"], entry["layout"], manifest["gated"], files, own)
    same = (manifest["model"], manifest["commit"]) == (model.name, model.commit) and model.layout in LAYOUTS
    good = NAME.fullmatch(model.name) and COMMIT.fullmatch(model.commit) and ".." not in model.name
    if not (same and good and files and store.is_absolute()):
        raise ValueError(f"{entry['manifest']} is not the manifest of {model.id} or lists no files")
    for file in files:
        parts = PurePosixPath(file.path).parts
        odd = file.path.startswith("/") or "\0" in file.path or {"..", "."} & set(file.path.split("/"))
        if not parts or odd or not SHA256.fullmatch(file.sha256) or not 0 <= file.size_bytes < 1 << 60:
            raise ValueError(f"{entry['manifest']}: invalid file entry: {file}")
    return model


class HashCache:
    """Remembers the hashes of verified files of a commit, so that an unchanged file is not read again.

    Files are identified by their inodes, so a hard link to a verified file need not be read either.
    """

    def __init__(self, base: Path, commit: str) -> None:
        """Read the remembered hashes; if they cannot be read, all files are hashed again."""
        self.path = base / f"{commit}.json"
        self.former: dict[str, list[object]] = {}
        self.entries: dict[str, list[object]] = {}
        with contextlib.suppress(OSError, ValueError, TypeError):
            self.former = dict(json.loads(self.path.read_text(encoding="utf-8")))

    def knows(self, status: os.stat_result, file: ModelFile) -> bool:
        """Return whether this file was verified and has not changed since."""
        entry = [file.sha256, status.st_size, status.st_mtime_ns]
        known = entry in (self.entries.get(str(status.st_ino)), self.former.get(str(status.st_ino)))
        if known:
            self.entries[str(status.st_ino)] = entry
        return known

    def add(self, status: os.stat_result, file: ModelFile) -> None:
        """Remember a verified file."""
        self.entries[str(status.st_ino)] = [file.sha256, status.st_size, status.st_mtime_ns]

    def forget(self, status: os.stat_result) -> None:
        """Forget a file, so that it is read again."""
        self.former.pop(str(status.st_ino), None)

    def write(self) -> None:
        """Write the hashes of this run if they differ from those on the disk."""
        if self.entries != self.former:
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(self.entries[key])}" for key in sorted(self.entries))
            write_text(self.path, f"{{\n{lines}\n}}\n")
            self.former = dict(self.entries)


def make_directory(path: Path) -> None:
    """Create a directory and its parents, with the owner of the first parent that exists."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        match_owner(path)


def match_owner(path: Path) -> None:
    """Change the owner of a file to the owner of its directory, so that a user can still use its own cache."""
    owner = path.parent.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def open_own(path: Path, flags: int) -> int:
    """Open a file of sparkiac; raise an error if it is a link, has hard links or is not a regular file.

    This program runs as root in directories that may belong to a user, who could replace the file with a link.
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
    raise StageError(f"{path} is not a regular file or has other links: check who created it, and remove it")


def write_text(path: Path, text: str) -> None:
    """Replace a small file atomically."""
    make_directory(path.parent)
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    handle = open_own(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with durable.naming(path), os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        sync(file.fileno())
    match_owner(scratch)
    durable.rename(scratch, path)


def sync(descriptor: int) -> None:
    """Sync a file to the disk, and drop it from the page cache, which shares its memory with the GPU."""
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def locked(base: Path) -> Iterator[None]:
    """Lock a model, so that a second run fails instead of changing it at the same time."""
    make_directory(base)
    with os.fdopen(open_own(base / "lock", os.O_RDWR | os.O_CREAT), "r+b", buffering=0) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            message = f"process {lock.read().decode().strip() or 'unknown'} uses {base.parent}: wait for it or stop it"
            raise StageError(message) from None
        with durable.naming(base / "lock"):
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n".encode())
        yield


def hash_file(place: Path, count: Callable[[int], object] = lambda _: None) -> tuple[str, os.stat_result | None]:
    """Return the SHA-256 of a file, and its status, or None if the file changed while it was read.

    `count` gets the size of each piece.
    """
    digest = hashlib.sha256()
    with place.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            count(len(chunk))
        after = os.fstat(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return digest.hexdigest(), after if same else None


def verify_file(place: Path, file: ModelFile, stamps: HashCache, *, trust: bool) -> str:
    """Return what is wrong with a file; empty if nothing is."""
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


def scan(
    model: StagedModel, candidates: Callable[[ModelFile], Iterator[Path]], stamps: HashCache, *, trust: bool = True
) -> StoreScan:
    """Verify every file of a model at all places where the layout allows it."""

    def find(file: ModelFile) -> tuple[Path | None, str]:
        worst = "missing"
        for place in candidates(file):
            wrong = verify_file(place, file, stamps, trust=trust)
            if not wrong:
                return place, ""
            worst = wrong if worst == "missing" else worst
        return None, worst

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(zip(model.files, pool.map(find, model.files), strict=True))
    return StoreScan(
        {file.path: place for file, (place, _) in results if place},
        {file.path: wrong for file, (place, wrong) in results if not place},
    )
