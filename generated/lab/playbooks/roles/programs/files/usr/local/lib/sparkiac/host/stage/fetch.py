"""Download missing files of a model into its store: check the free space, download several files at once, publish."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ..durable import rename
from ..local import free_bytes
from .http import WAITS_S, Address, PartialFile, SourceRefusedError, download, without_query
from .layouts import hard_link, layout_of
from .store import (
    AT_ONCE,
    CHUNK_BYTES,
    HashCache,
    ModelFile,
    StagedModel,
    StageError,
    StoreScan,
    gib,
    locked,
    make_directory,
    match_owner,
    scan,
)

RESERVE_BYTES = 10 << 30
PEER_WAITS_S = (1,)
ASK_FOR_TOKEN = (401, 403)
LOCK_AGAIN = "pin the new content with `sparkiac lock INVENTORY --own-models --upgrade MODEL`"


class Peer(NamedTuple):
    """A host that shares its store during one play."""

    url: str
    token: str


class HubEndpoint(NamedTuple):
    """URL and token of the model hub."""

    endpoint: str
    token: str


def contents_to_fetch(model: StagedModel, found: StoreScan) -> dict[str, ModelFile]:
    """Return hash → file for the contents to download; files with the same content are listed once."""
    return {file.sha256: file for file in model.files if file.path in found.wrong}


def missing_bytes(model: StagedModel, found: StoreScan) -> int:
    """Return the number of bytes that must still be downloaded."""
    wanted = contents_to_fetch(model, found)
    places = [layout_of(model).base / "incomplete" / sha256 for sha256 in wanted]  # of an interrupted run
    here = sum(place.stat().st_size for place in places if place.is_file())
    return max(0, sum(file.size_bytes for file in wanted.values()) - here)


def check_room(missing: list[tuple[Path, int]], reserve_bytes: int) -> None:
    """Raise StageError if the missing files do not fit on their file systems."""
    disks: dict[int, tuple[Path, int]] = {}
    for store, size_bytes in missing:
        place = next(each for each in (store, *store.parents) if each.is_dir())
        first, sum_bytes = disks.get(place.stat().st_dev, (store, 0))
        disks[place.stat().st_dev] = first, sum_bytes + size_bytes
    for store, size_bytes in disks.values():
        free = free_bytes(store)
        if size_bytes and free < size_bytes + reserve_bytes:
            message = (
                f"{store}: free {gib(size_bytes + reserve_bytes - free)} more: {gib(size_bytes)} must be downloaded "
                f"and {gib(reserve_bytes)} must stay free, but only {gib(free)} are free. "
                "`sparkiac prune INVENTORY --check` lists what no kept generation needs"
            )
            raise StageError(message)


def scan_model(model: StagedModel, *, trust: bool = True, remember: bool = False) -> StoreScan:
    """Verify the files of a model and optionally remember which ones are right."""
    layout = layout_of(model)
    stamps = HashCache(layout.base, model.commit)
    found = scan(model, layout.candidates, stamps, trust=trust)
    if remember and (found.places or stamps.former):
        with locked(layout.base):
            stamps.write()
    return found


class ModelDownload:
    """The download of one model into its store."""

    def __init__(self, model: StagedModel, hub: HubEndpoint, peers: list[Peer]) -> None:
        """Store the model and its sources: the peers in this order, then the hub."""
        self.model, self.hub, self.peers = model, hub, peers
        self.layout = layout_of(model)
        self.stamps = HashCache(self.layout.base, model.commit)
        self.lock = threading.Lock()
        self.silent: set[str] = set()
        self.stopped = threading.Event()

    def run(self) -> bool:
        """Download, verify and publish the model; return whether anything changed."""
        with locked(self.layout.base):
            found = scan(self.model, self.layout.candidates, self.stamps)
            if changed := not self.layout.is_published(found):
                self._download(found)
                self.layout.publish(scan(self.model, self.layout.candidates, self.stamps))
            found = scan(self.model, self.layout.candidates, self.stamps)
            if not self.layout.is_published(found):
                message = f"{self.model.id}: changed during the download ({'; '.join(found.wrong)}): run this again"
                raise StageError(message)
            self.stamps.write()
            shutil.rmtree(self.layout.base / "incomplete", ignore_errors=True)  # also parts of other commits
        return changed

    def _download(self, found: StoreScan) -> None:
        make_directory(self.layout.base / "incomplete")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            wanted = contents_to_fetch(self.model, found).values()
            tasks = [pool.submit(self._download_unless_stopped, file) for file in wanted]
        failures = [error for task in tasks if (error := task.exception())]
        if failures:
            raise next((error for error in failures if str(error) != "stopped"), failures[0])

    def _download_unless_stopped(self, file: ModelFile) -> None:
        """Download one file; if it fails, the other downloads stop too and keep their partial files."""
        if self.stopped.is_set():
            raise SourceRefusedError("stopped")  # never shown: `_download` reports another error
        try:
            self._download_file(file)
        except BaseException:
            self.stopped.set()
            raise

    def _download_file(self, file: ModelFile) -> None:
        path = self.layout.base / "incomplete" / file.sha256
        part = PartialFile(path, file)
        try:
            source = "here" if part.is_right else self._download_from_any(file, part)
        except OSError as error:
            message = (
                f"{path}: {error.strerror or error}, at {part.done} of {file.size_bytes} bytes of {file.path}. "
                "The partial file is kept: free disk space and run this again"
            )
            raise StageError(message) from None
        finally:
            status = part.close()
        match_owner(path)
        self._place(file, path)
        with self.lock:
            self.stamps.add(status, file)
            self.stamps.write()
            print_json(model=self.model.id, file=file.path, size_bytes=file.size_bytes, source=source)

    def _download_from_any(self, file: ModelFile, part: PartialFile) -> str:
        """Get a file from the user's folder, a peer or else from the hub; return the path or the URL of the source."""
        own = self.model.own
        if own and own.path:
            return copy(Path(own.path, file.path), part, self.model)
        for peer in self.peers:
            if peer.url in self.silent:
                continue
            try:
                address = Address(f"{peer.url}/file/{file.sha256}", peer.token, PEER_WAITS_S, direct=True)
                download(address, part, lambda: not self.stopped.is_set())
            except SourceRefusedError as error:
                if self.stopped.is_set():
                    raise
                if not error.status:
                    self.silent.add(peer.url)
                print_json(model=self.model.id, file=file.path, refused=str(error))
            else:
                return peer.url
        if own:
            raise StageError(f"{file.path} of {self.model.id} comes from {own.host}: apply to that host, too")
        path = f"{self.model.name}/resolve/{self.model.commit}/{quote(file.path)}"
        try:
            address = Address(f"{self.hub.endpoint}/{path}", self.hub.token, WAITS_S, direct=False)
            download(address, part, lambda: not self.stopped.is_set())
        except SourceRefusedError as error:
            raise self._explained(error) from None
        return without_query(self.hub.endpoint)

    def _explained(self, error: SourceRefusedError) -> StageError:
        if error.status not in ASK_FOR_TOKEN:
            return error
        token = "the token has no access" if self.hub.token else "no token was sent"
        page = f"{without_query(self.hub.endpoint)}/{self.model.name}"
        advice = f"accept its terms on {page} with the account of the token that the inventory names"
        kind = "gated" if self.model.gated else "private or does not exist"
        message = f"{error}: {self.model.name} is {kind}, and {token}; {advice}"
        return StageError(message)

    def _place(self, file: ModelFile, path: Path) -> None:
        """Move a complete file to its path, and link it to all other paths with the same content."""
        same = [each for each in self.model.files if each.sha256 == file.sha256]
        targets = list(dict.fromkeys(map(self.layout.target, same)))
        for target in targets:
            make_directory(target.parent)
        rename(path, targets[0])
        for target in targets[1:]:
            hard_link(targets[0], target)


def copy(place: Path, part: PartialFile, model: StagedModel) -> str:
    """Copy a file of the user's model, and return its path; refuse a file that is not the one that the lock pins."""
    try:
        source = place.open("rb", buffering=0)
    except OSError as error:
        raise StageError(f"{place}, a file of {model.id}: {error.strerror}: restore it, or {LOCK_AGAIN}") from None
    part.restart()
    with source:
        while part.done <= part.file.size_bytes and (chunk := source.read(CHUNK_BYTES)):
            part.append(chunk)
        os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if not part.is_right:
        part.restart()
        raise StageError(f"{place}, a file of {model.id}, has changed since it was locked: restore it, or {LOCK_AGAIN}")
    return str(place)


def fetch_file(url: str, token: str, file: ModelFile, place: Path) -> None:
    """Download one file of the hub to a place whose directory exists."""
    part = PartialFile(place.with_name(f".{place.name}.part"), file)
    try:
        download(Address(url, token, WAITS_S, direct=False), part, lambda: True)
    finally:
        part.close()
    rename(part.path, place)


def fetch(models: list[StagedModel], hub: HubEndpoint, peers: list[Peer], *, reserve_bytes: int) -> bool:
    """Download all models if they fit on the disk; return whether anything changed."""
    missing = [(model.store, missing_bytes(model, scan_model(model, remember=True))) for model in models]
    check_room(missing, reserve_bytes)
    changed = [ModelDownload(model, hub, peers).run() for model in models]
    return any(changed)


def print_json(**words: Any) -> None:  # noqa: ANN401 - JSON
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()
