"""The lock's entry for a model, from the repository on the model hub."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Lock
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from sparkiac.host.sent import safetensors
from sparkiac.host.sent.model_files import TEXTS
from sparkiac.model import answers
from sparkiac.model import forms as patterns
from sparkiac.model.base import MOST_BYTES
from sparkiac.model.lock import LoadedFormat, LockedModel, ModelFile
from sparkiac.report.hints import nearest
from sparkiac.upstream import errors, parallel
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.hub import config, selection
from sparkiac.upstream.hub.client import HubClient, HubFile

R = TypeVar("R")

LARGEST_BYTES: Final = 12_582_912
"""12 MiB: the largest file outside LFS that is read to hash it. Hugging Face requires LFS above 10 MiB."""
_LARGE_HEADER: Final = Lock()
"""Held while a header that the first read did not include is in memory."""
_CONFIG: Final = "config.json"
_QUANTIZATION: Final = "hf_quant_config.json"
"""File in which ModelOpt describes the quantization; older checkpoints have it nowhere else."""


def resolve(
    handle: str, *, hub: HubClient, revision: str, files: Collection[str], forms: Collection[LoadedFormat]
) -> LockedModel:
    """Return the lock's entry for a repository at a revision.

    `files` are files that engines load one by one, with the other parts of a split GGUF. `forms` are the formats of
    engines that load the whole repository. Raises `UpstreamError`.
    """
    reader = CommitReader(handle, revision, hub)
    staged = reader.staged(files, forms)
    small = reader.all(reader.small, (each for each in staged if each.sha256 is None or each.path in TEXTS))
    tensors = reader.all(reader.tensors, (each for each in staged if each.path.endswith(".safetensors"))).values()
    return LockedModel(
        commit=reader.commit,
        revision=revision,
        licence=reader.repository.licence,
        gated=reader.repository.gated,
        private=reader.repository.private,
        files={each.path: _entry(each, small.get(each.path), handle) for each in staged},
        left_out=selection.left_out(reader.files, forms) if forms else (),
        **described(small, tensors, handle),
    )


def described(small: Mapping[str, bytes], tensors: Collection[safetensors.Tensors], name: str) -> dict[str, Any]:
    """Return the fields of the entry that small files and headers of a model decide. Raises `UpstreamError`."""
    configs = {file: _json(small[file], f"{name}/{file}") for file in TEXTS if file in small}
    elements = sum((Counter(each.elements) for each in tensors), Counter[str]())
    return {
        "remote_code": any("auto_map" in each for each in configs.values()),
        "tensors": dict(sorted(elements.items())),
        "tensor_bytes": sum(each.size_bytes for each in tensors) if tensors else None,
        "config": _facts(configs),
    }


class CommitReader:
    """Reads files of a repository at one commit."""

    def __init__(self, handle: str, revision: str, hub: HubClient) -> None:
        """Request the listing of the revision. Raises `UpstreamError`."""
        self.repository = hub.repository(handle, revision=revision)
        self.commit = self.repository.commit
        self.files = {file.path: file for file in self.repository.files}
        self._handle, self._hub = handle, hub
        if not re.fullmatch(patterns.COMMIT, self.commit):
            raise UpstreamError(errors.HUB_INVALID, f"the hub lists no commit of {handle} at {revision!r}")
        if re.fullmatch(patterns.COMMIT, revision) and revision != self.commit:
            message = f"the hub returned commit {self.commit} of {handle} instead of the requested {revision}"
            raise UpstreamError(errors.HUB_INVALID, message)

    def staged(self, files: Iterable[str], forms: Collection[LoadedFormat]) -> list[HubFile]:
        """Return the files that a host needs, sorted by path."""
        paths = {part for file in files for part in selection.split_parts(file)}
        if forms:
            paths.update(whole := selection.staged(self.files, forms))
            self._refuse_alternatives(whole)
        for path in sorted(paths):
            self._refuse_path(path)
        return [self.files[path] for path in sorted(paths)]

    def all(self, read: Callable[[HubFile], R], files: Iterable[HubFile]) -> dict[str, R]:
        """Read files in parallel, and return the results by path. The first error ends the reading."""
        return {file.path: result for file, result in parallel.each(files, read)}

    def small(self, file: HubFile) -> bytes:
        """Read a whole file and check it against the hub's listing."""
        if file.size_bytes > LARGEST_BYTES:
            message = f"{self._at(file.path)} has {file.size_bytes} bytes outside LFS, so its sha256 is unknown"
            raise UpstreamError(errors.HUB_INVALID, message, f"files up to {LARGEST_BYTES} bytes are read to hash them")
        body = self._content(file, file.size_bytes + 1)  # one byte more shows whether the file is longer than listed
        blob = hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()
        found, listed = (hashlib.sha256(body).hexdigest(), file.sha256) if file.sha256 else (blob, file.blob)
        if len(body) != file.size_bytes or found != listed:
            message = f"{self._at(file.path)} has {len(body)} bytes with the hash {found}"
            message += f", but the hub lists {file.size_bytes} bytes with {listed}"
            raise UpstreamError(errors.HUB_INVALID, message)
        return body

    def tensors(self, file: HubFile) -> safetensors.Tensors:
        """Read the header of a safetensors file."""
        try:
            start = self._content(file, min(safetensors.FIRST_READ_BYTES, file.size_bytes))
            end = safetensors.header_end(start)
            if not len(start) < end <= file.size_bytes:
                return safetensors.read(start, size_bytes=file.size_bytes)
            with _LARGE_HEADER:
                return safetensors.read(self._content(file, end), size_bytes=file.size_bytes)
        except safetensors.HeaderError as error:
            message = f"{self._at(file.path)} is not a complete safetensors file: {error}"
            raise UpstreamError(errors.HUB_INVALID, message, "check whether its upload is complete") from None

    def _content(self, file: HubFile, max_bytes: int) -> bytes:
        if not file.size_bytes:
            return b""  # servers reject every range of an empty file
        return self._hub.content(self._handle, file.path, commit=self.commit, max_bytes=max_bytes)

    def _refuse_alternatives(self, staged: Iterable[str]) -> None:
        """Refuse to stage all GGUF files of a repository from which an engine loads only one."""
        files = selection.alternatives(staged)
        if len(files) > 1:
            message = f"{self._handle} has {len(files)} GGUF files and no safetensors; an engine loads only one of them"
            raise UpstreamError(errors.NO_MODEL_FILE, message, f"select one with `model_file`, such as {files[0]}")

    def _refuse_path(self, path: str) -> None:
        if path not in self.files:
            message = f"{self._handle} has no file {path!r} at {self.commit}"
            raise UpstreamError(errors.NO_MODEL_FILE, message, nearest(path, self.files))
        if not selection.is_placeable(path):
            message = f"{self._handle} has a file {path!r}, whose path cannot be staged"
            raise UpstreamError(errors.HUB_INVALID, message, "paths consist of letters, digits and . _ @ + = - /")

    def _at(self, path: str) -> str:
        return f"{self._handle}/{path} at {self.commit}"


def _entry(file: HubFile, body: bytes | None, handle: str) -> ModelFile:
    sha256 = file.sha256 or hashlib.sha256(body or b"").hexdigest()
    try:
        return ModelFile(size_bytes=file.size_bytes, sha256=sha256)
    except ValidationError:
        message = f"the hub lists {handle}/{file.path} with {file.size_bytes} bytes and the sha256 {sha256!r}"
        raise UpstreamError(errors.HUB_INVALID, message) from None


def _json(raw: bytes, name: str) -> dict[str, Any]:
    try:
        data = json.loads(answers.counted(raw), parse_int=_number, parse_constant=_number)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise UpstreamError(errors.HUB_INVALID, f"{name} is not a JSON object, or contains a number that is too large")
    return data


def _number(text: str) -> int:
    if (number := int(text)) > MOST_BYTES:
        raise ValueError(text)
    return number


def _facts(configs: dict[str, dict[str, Any]]) -> dict[str, object]:
    """Return the facts of config.json, with ModelOpt's description of the quantization under its file name."""
    quantized = config.facts(configs.get(_QUANTIZATION, {}))
    beside = {_QUANTIZATION.removesuffix(".json"): quantized} if quantized else {}
    return config.facts(configs.get(_CONFIG, {})) | beside
