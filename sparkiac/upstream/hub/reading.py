"""One repository: from the hub's listing to the lock's entry."""

from __future__ import annotations

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from sparkiac.hints import nearest
from sparkiac.model import forms
from sparkiac.model.base import MOST_BYTES
from sparkiac.model.lock import LockedModel, ModelFile
from sparkiac.upstream.hub import codes, config, safetensors, selection
from sparkiac.upstream.hub.client import AT_ONCE
from sparkiac.upstream.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from sparkiac.model.lock import LoadedFormat, WeightFormat
    from sparkiac.upstream.hub.client import Hub
    from sparkiac.upstream.hub.wire import Entry, Repository

T = TypeVar("T")
R = TypeVar("R")

LARGEST_BYTES: Final = 67_108_864
"""What is read of a file outside LFS to hash it, at most: 64 MiB."""
_CONFIG: Final = "config.json"
_QUANTIZATION: Final = "hf_quant_config.json"
"""Where ModelOpt says how it quantised, and of older checkpoints nothing else does."""
_READ: Final[tuple[str, ...]] = (_CONFIG, "tokenizer_config.json", _QUANTIZATION)


def locked(
    handle: str, *, revision: str, files: Collection[str], forms: Collection[LoadedFormat], hub: Hub
) -> LockedModel:
    """Give the lock's entry; `files` are single files that engines load, `forms` those in which they load all.

    Raises `Refusal`.
    """
    repository = hub.repository(handle, revision=revision)
    refuse_commit(repository.commit, handle, revision)
    reader = Reader(handle, repository, hub)
    staged = reader.chosen(files, forms)
    texts = dict(_each(reader.text, [each for each in staged if each.sha256 is None or each.path in _READ]))
    headers = _each(reader.tensors, [each for each in staged if each.path.endswith(".safetensors")])
    said = {name: _json(texts[name], f"{handle}/{name}") for name in _READ if name in texts}
    return LockedModel(
        commit=repository.commit,
        revision=revision,
        licence=repository.licence,
        gated=repository.gated,
        remote_code=any("auto_map" in each for each in said.values()),
        tensors=_summed(headers),
        tensor_bytes=sum(header.size_bytes for header in headers) if headers else None,
        config=_facts(said),
        files={each.path: _file(each, texts.get(each.path), handle) for each in staged},
        left_out=reader.left_out(forms),
    )


class Reader:
    """Reads files of one commit."""

    def __init__(self, handle: str, repository: Repository, hub: Hub) -> None:
        """Take what to read, and through whom."""
        self._handle, self._hub = handle, hub
        self._commit = repository.commit
        self._entries = {entry.path: entry for entry in repository.entries}

    def chosen(self, files: Iterable[str], forms: Collection[LoadedFormat]) -> list[Entry]:
        """Give what a host needs, sorted by path."""
        paths = {part for file in files for part in selection.parts(file)}
        if forms:
            paths.update(staged := selection.staged(self._entries, forms))
            self._refuse_choice(staged)
        for path in sorted(paths):
            self._refuse_path(path)
        return [self._entries[path] for path in sorted(paths)]

    def left_out(self, forms: Collection[LoadedFormat]) -> tuple[WeightFormat, ...]:
        """Give the forms of weights that no host needs."""
        return selection.left_out(self._entries, forms) if forms else ()

    def text(self, entry: Entry) -> tuple[str, bytes]:
        """Read a small file, and compare it with what the listing says of it."""
        if entry.size_bytes > LARGEST_BYTES:
            message = f"{self._at(entry.path)} has {entry.size_bytes} bytes outside LFS, so its sha256 is not known"
            raise Refusal(codes.UNTRUE, message, f"only {LARGEST_BYTES} bytes are read to find it")
        read = self._content(entry, entry.size_bytes + 1)
        blob = hashlib.sha1(b"blob %d\0" % len(read) + read, usedforsecurity=False).hexdigest()
        known = (hashlib.sha256(read).hexdigest(), entry.sha256) if entry.sha256 else (blob, entry.blob)
        if len(read) != entry.size_bytes or known[0] != known[1]:
            message = f"{self._at(entry.path)} came as {len(read)} bytes with the hash {known[0]}"
            raise Refusal(codes.UNTRUE, f"{message}; the hub lists {entry.size_bytes} bytes with {known[1]}")
        return entry.path, read

    def tensors(self, entry: Entry) -> safetensors.Tensors:
        """Read the header of a safetensors file."""
        try:
            start = self._content(entry, min(safetensors.FIRST_READ_BYTES, entry.size_bytes))
            end = safetensors.header_end(start)
            if len(start) < end <= entry.size_bytes:
                start = self._content(entry, end)
            return safetensors.read(start, size_bytes=entry.size_bytes)
        except safetensors.NonsenseError as error:
            message = f"{self._at(entry.path)} is no whole safetensors file: {error}"
            raise Refusal(codes.UNTRUE, message, "was its upload complete?") from None

    def _content(self, entry: Entry, limit_bytes: int) -> bytes:
        if not entry.size_bytes:
            return b""  # there is no range of nothing
        return self._hub.content(self._handle, entry.path, commit=self._commit, limit_bytes=limit_bytes)

    def _refuse_choice(self, staged: Iterable[str]) -> None:
        """Refuse a repository of which one file of several is meant, and all together are many times the model."""
        several = selection.alternatives(staged)
        if len(several) > 1:
            message = f"{self._handle} has {len(several)} GGUF files, of which an engine loads one, and no safetensors"
            raise Refusal(codes.NO_FILE, message, f"name it by `model_file`, such as {several[0]}")

    def _refuse_path(self, path: str) -> None:
        if path not in self._entries:
            message = f"{self._handle} has no file {path!r} at {self._commit}"
            raise Refusal(codes.NO_FILE, message, nearest(path, self._entries))
        if not re.fullmatch(forms.INSIDE, path) or {".", ".."} & set(path.split("/")):
            message = f"{self._handle} has a file {path!r}, which is no path that can be staged"
            raise Refusal(codes.UNTRUE, message, "paths have letters, digits and . _ @ + = - in their parts")

    def _at(self, path: str) -> str:
        return f"{self._handle}/{path} at {self._commit}"


def _each(function: Callable[[T], R], values: Iterable[T]) -> list[R]:
    """Do the same for each, side by side; the first refusal ends it."""
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        return list(pool.map(function, values))
    finally:
        pool.shutdown(cancel_futures=True)


def refuse_commit(commit: str, handle: str, revision: str) -> None:
    """Refuse what is no commit, or another one than was asked for. Raises `Refusal`."""
    if not re.fullmatch(forms.COMMIT, commit):
        raise Refusal(codes.UNTRUE, f"the hub gives no commit for {handle} at {revision!r}")
    if re.fullmatch(forms.COMMIT, revision) and revision != commit:
        raise Refusal(codes.UNTRUE, f"the hub gives the commit {commit} for {handle} at {revision}")


def _file(entry: Entry, text: bytes | None, handle: str) -> ModelFile:
    sha256 = entry.sha256 or hashlib.sha256(text or b"").hexdigest()
    try:
        return ModelFile(size_bytes=entry.size_bytes, sha256=sha256)
    except ValidationError:
        message = f"the hub lists {handle}/{entry.path} with {entry.size_bytes} bytes and the sha256 {sha256!r}"
        raise Refusal(codes.UNTRUE, message) from None


def _json(raw: bytes, name: str) -> dict[str, Any]:
    try:
        said = json.loads(raw, parse_int=_number, parse_constant=_number)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Refusal(codes.UNTRUE, f"{name} is no JSON object, or holds a number that no lock can hold")
    return said


def _number(text: str) -> int:
    if (number := int(text)) > MOST_BYTES:
        raise ValueError(text)
    return number


def _facts(said: dict[str, dict[str, Any]]) -> dict[str, object]:
    """Give the facts of config.json, and beside them, under its file's name, how ModelOpt quantised."""
    quantized = config.of(said.get(_QUANTIZATION, {}))
    beside = {_QUANTIZATION.removesuffix(".json"): quantized} if quantized else {}
    return config.of(said.get(_CONFIG, {})) | beside


def _summed(headers: Iterable[safetensors.Tensors]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for header in headers:
        for dtype, count in header.elements.items():
            totals[dtype] = totals.get(dtype, 0) + count
    return dict(sorted(totals.items()))
