"""Brings what is missing of a model into its store: room first, then several files at once, then all seen at once."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from stage_http import WAITS_S, Address, Part, RefusedError, plain, pull
from stage_layouts import layout_of, take
from stage_store import (
    AT_ONCE,
    File,
    Found,
    Model,
    StageError,
    Stamps,
    examine,
    free_bytes,
    gib,
    give,
    locked,
    make_directory,
    replace,
)

if TYPE_CHECKING:
    from pathlib import Path

RESERVE_BYTES = 10 << 30
PEER_WAITS_S = (1,)
ASK_FOR_TOKEN = (401, 403)


class Peer(NamedTuple):
    """A host that shares its store for the length of one play."""

    url: str
    token: str


class Hub(NamedTuple):
    """Where models come from."""

    endpoint: str
    token: str


def parts_of(base: Path, wanted: dict[str, File]) -> int:
    """Return how many bytes of what is wanted lie here from a run that was cut off."""
    places = [base / "incomplete" / sha256 for sha256 in wanted]
    return sum(place.stat().st_size for place in places if place.is_file())


def wanted_of(model: Model, found: Found) -> dict[str, File]:
    """Return the contents to fetch, each once, by their hash."""
    return {file.sha256: file for file in model.files if file.path in found.wrong}


def missing_bytes(model: Model, found: Found) -> int:
    """Return how much is still to come."""
    wanted = wanted_of(model, found)
    return max(0, sum(file.size_bytes for file in wanted.values()) - parts_of(layout_of(model).base, wanted))


def check_room(missing: list[tuple[Path, int]], reserve_bytes: int) -> None:
    """Refuse to begin what has no room, by file system."""
    disks: dict[int, tuple[Path, int]] = {}
    for store, size_bytes in missing:
        place = next(each for each in (store, *store.parents) if each.is_dir())
        first, sum_bytes = disks.get(place.stat().st_dev, (store, 0))
        disks[place.stat().st_dev] = first, sum_bytes + size_bytes
    for store, size_bytes in disks.values():
        free = free_bytes(store)
        if size_bytes and free < size_bytes + reserve_bytes:
            message = (
                f"{store}: {gib(size_bytes)} are to come and {gib(reserve_bytes)} must stay free, but {gib(free)} are "
                f"free: make room for {gib(size_bytes + reserve_bytes - free)} more. What no kept generation needs: "
                "ansible-playbook playbooks/prune.yml --check"
            )
            raise StageError(message)


def survey(model: Model, *, trust: bool = True, remember: bool = False) -> Found:
    """Find what is right of a model, and remember it when asked to."""
    layout = layout_of(model)
    stamps = Stamps(layout.base, model.commit)
    found = examine(model, layout.candidates, stamps, trust=trust)
    if remember and (found.places or stamps.former):
        with locked(layout.base):
            stamps.write()
    return found


class Fetch:
    """One model on its way into its store."""

    def __init__(self, model: Model, hub: Hub, peers: list[Peer]) -> None:
        """Take what to fetch, and from whom: first the peers, in order."""
        self.model, self.hub, self.peers = model, hub, peers
        self.layout = layout_of(model)
        self.stamps = Stamps(self.layout.base, model.commit)
        self.lock = threading.Lock()
        self.silent: set[str] = set()
        self.stopped = threading.Event()

    def run(self) -> bool:
        """Fetch, verify and show the model; return whether anything changed."""
        with locked(self.layout.base):
            found = examine(self.model, self.layout.candidates, self.stamps)
            if changed := not self.layout.is_published(found):
                self._bring(found)
                self.layout.publish(examine(self.model, self.layout.candidates, self.stamps))
            found = examine(self.model, self.layout.candidates, self.stamps)
            if not self.layout.is_published(found):
                message = f"{self.model.id}: changed while it was staged ({'; '.join(found.wrong)}): run this again"
                raise StageError(message)
            self.stamps.write()
            shutil.rmtree(self.layout.base / "incomplete", ignore_errors=True)  # of commits that nobody wants now
        return changed

    def _bring(self, found: Found) -> None:
        make_directory(self.layout.base / "incomplete")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            tasks = [pool.submit(self._guarded, file) for file in wanted_of(self.model, found).values()]
        failures = [error for task in tasks if (error := task.exception())]
        if failures:
            raise next((error for error in failures if str(error) != "stopped"), failures[0])

    def _guarded(self, file: File) -> None:
        """Fetch one file; when it fails, the others end too, and keep what they have."""
        if self.stopped.is_set():
            raise RefusedError("stopped")  # noqa: EM101 - a sign between threads
        try:
            self._file(file)
        except BaseException:
            self.stopped.set()
            raise

    def _file(self, file: File) -> None:
        path = self.layout.base / "incomplete" / file.sha256
        part = Part(path, file)
        try:
            came_from = "here" if part.is_right else self._ask(file, part)
        except OSError as error:
            message = (
                f"{path}: {error.strerror or error}, at {part.done} of {file.size_bytes} bytes of {file.path}. "
                "What came is kept: make room, and run this again"
            )
            raise StageError(message) from None
        finally:
            status = part.close()
        give(path)
        self._place(file, path)
        with self.lock:
            self.stamps.add(status, file)
            self.stamps.write()
            say(model=self.model.id, file=file.path, size_bytes=file.size_bytes, source=came_from)

    def _ask(self, file: File, part: Part) -> str:
        """Ask the peers, then the hub; return who gave it."""
        for peer in self.peers:
            if peer.url in self.silent:
                continue
            try:
                address = Address(f"{peer.url}/file/{file.sha256}", peer.token, PEER_WAITS_S, direct=True)
                pull(address, part, lambda: not self.stopped.is_set())
            except RefusedError as error:
                if self.stopped.is_set():
                    raise
                if not error.status:
                    self.silent.add(peer.url)
                say(model=self.model.id, file=file.path, refused=str(error))
            else:
                return peer.url
        path = f"{self.model.name}/resolve/{self.model.commit}/{quote(file.path)}"
        try:
            address = Address(f"{self.hub.endpoint}/{path}", self.hub.token, WAITS_S, direct=False)
            pull(address, part, lambda: not self.stopped.is_set())
        except RefusedError as error:
            raise self._explained(error) from None
        return plain(self.hub.endpoint)

    def _explained(self, error: RefusedError) -> StageError:
        if error.status not in ASK_FOR_TOKEN:
            return error
        token = "the token that was sent may not read it" if self.hub.token else "no token was sent"
        page = f"{plain(self.hub.endpoint)}/{self.model.name}"
        advice = f"accept its terms on {page} with the account of the token that the inventory names"
        kind = "gated" if self.model.gated else "private, or gone"
        message = f"{error}: {self.model.name} is {kind}, and {token}; {advice}"
        return StageError(message)

    def _place(self, file: File, path: Path) -> None:
        """Give a whole file all its names."""
        targets = list(
            dict.fromkeys(self.layout.target(each) for each in self.model.files if each.sha256 == file.sha256)
        )
        for target in targets:
            make_directory(target.parent)
        replace(path, targets[0])
        for target in targets[1:]:
            take(targets[0], target)


def fetch(models: list[Model], hub: Hub, peers: list[Peer], *, reserve_bytes: int) -> bool:
    """Bring all models in, when there is room for all; return whether anything changed."""
    missing = [(model.store, missing_bytes(model, survey(model, remember=True))) for model in models]
    check_room(missing, reserve_bytes)
    changed = [Fetch(model, hub, peers).run() for model in models]
    return any(changed)


def say(**words: Any) -> None:  # noqa: ANN401 - JSON
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()
