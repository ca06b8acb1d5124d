"""Read a model of the user's where it lies, on a host: the entry of the lock, as if a hub had listed its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from sparkiac.fleet.query import HostFailure, SshEndpoint, run
from sparkiac.host.sent.model_files import TEXTS
from sparkiac.host.sent.safetensors import Tensors
from sparkiac.lock.required import RequiredPin
from sparkiac.model import answers
from sparkiac.model.answers import Number, ReportedFacts
from sparkiac.model.inventory import OwnModel
from sparkiac.model.lock import LockedModel, ModelFile
from sparkiac.report.hints import nearest
from sparkiac.upstream import errors, programs
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.hub import model, selection
from sparkiac.upstream.programs import ProgramError

_TIMEOUT_S: Final = 120
_CONFIG: Final = "config.json"
_PATHS: Final = "paths consist of letters, digits and . _ @ + = - /"
Progress = Callable[[int, int], object]
"""Called with the bytes that were read and those that are read in all."""


class _Tensors(ReportedFacts):
    """The tensors of a file."""

    elements: dict[str, Number]
    size_bytes: Number


class _Listing(ReportedFacts):
    """The files of a model on a host."""

    files: dict[str, Number]
    texts: dict[str, str]
    tensors: dict[str, _Tensors]


class _Hashing(ReportedFacts):
    """One line about the hashing: a hash, or how many bytes were read."""

    path: str = ""
    size_bytes: Number = 0
    sha256: str = ""
    read_bytes: Number = 0


class OwnModelReader:
    """Reads the files of one model on its host."""

    def __init__(self, pin: RequiredPin, own: OwnModel, host: SshEndpoint, progress: Progress) -> None:
        """Connect to nothing yet."""
        self._pin, self._own, self._host, self._progress = pin, own, host, progress

    def read(self) -> LockedModel:
        """Return the entry of the lock. Raises `UpstreamError`."""
        listing = self._listing()
        wanted = self._wanted(listing)
        files = self._hashed({path: listing.files[path] for path in wanted})
        texts = {name: text.encode() for name, text in listing.texts.items() if name in TEXTS and name in wanted}
        tensors = [Tensors(each.elements, each.size_bytes) for path, each in listing.tensors.items() if path in wanted]
        try:
            described = model.described(texts, tensors, str(self._own))
            left_out = selection.left_out(listing.files, self._pin.forms) if self._pin.forms else ()
            return LockedModel(commit=content_id(files), files=files, left_out=left_out, **described)
        except (UpstreamError, ValueError) as error:
            raise self._error(answers.shown(str(error))) from None

    def _listing(self) -> _Listing:
        sent = programs.bundled("sent.model_files", self._own.path)
        try:
            words = ("python3", *sent.words)
            done = run(self._host, words, sent.text, timeout_s=_TIMEOUT_S, most_bytes=programs.MOST_LOG_BYTES)
            if done.returncode == 0:
                return _Listing.of_output(done.stdout)
        except HostFailure as failure:
            message = f"{self._pin.name} is on {self._own.host}, which cannot be reached: {failure.reason}"
            raise UpstreamError(errors.HOST_NO_RESPONSE, message, failure.hint) from None
        except ValueError as error:
            raise self._error(str(error), "check what a login on the host prints") from None
        last = answers.shown(programs.last_line(done.stderr, f"exit status {done.returncode}"))
        raise self._error(last, f"check the path, and that {self._host.words} can read it")

    def _wanted(self, listing: _Listing) -> tuple[str, ...]:
        """Return the paths of the files that hosts need, sorted; refuse a folder that no engine can load."""
        pin, paths = self._pin, {part for file in self._pin.files if file for part in selection.split_parts(file)}
        if pin.forms:
            paths.update(whole := selection.staged(listing.files, pin.forms))
            self._refuse_unloadable(whole)
        for path in sorted(paths):
            if path not in listing.files:
                raise self._error(f"there is no file {path}", nearest(path, listing.files))
            if not selection.is_placeable(path):
                raise self._error(f"the path of {answers.shown(path)!r} cannot be staged", _PATHS)
        return tuple(sorted(paths))

    def _refuse_unloadable(self, whole: Iterable[str]) -> None:
        """Refuse a folder without config.json or without weights that an engine loads as a whole."""
        found = set(whole)
        if _CONFIG not in found:
            adapter = "adapter_config.json" in found
            hint = "merge the adapter into its model and save that" if adapter else "name the folder that contains it"
            raise self._error(f"there is no {_CONFIG}", hint)
        if self._pin.forms != ("bare",) and not any(path.endswith(".safetensors") for path in found):
            raise self._error("there is no safetensors file", "save the model as safetensors, or name a GGUF file")

    def _hashed(self, sizes: Mapping[str, int]) -> dict[str, ModelFile]:
        """Hash the files, which takes a second for each GB or two."""
        request = f"{json.dumps(list(sizes))}\n"
        sent = programs.bundled("sent.model_files", self._own.path, "hash", text=request)
        words = ("python3", *sent.words)
        running = programs.RunningProgram(self._host.target, words, program=sent.text, port=self._host.port)
        files: dict[str, ModelFile] = {}
        try:
            for text in running.lines():
                line = _Hashing.of_json(text)
                if line.path in sizes:
                    files[line.path] = ModelFile(size_bytes=line.size_bytes, sha256=line.sha256)
                else:
                    self._progress(line.read_bytes, sum(sizes.values()))
        except (ProgramError, ValueError) as error:
            raise self._error(answers.shown(str(error)), "lock again when nothing writes to it") from None
        finally:
            running.end()
        if missing := sizes.keys() - files.keys():
            raise self._error(f"{min(missing)} was not read", "check what a login on the host prints")
        return dict(sorted(files.items()))

    def _error(self, reason: str, hint: str = "") -> UpstreamError:
        message = f"{self._pin.name} cannot be read from {self._own}: {reason}"
        return UpstreamError(errors.OWN_MODEL, message, hint)


def content_id(files: Mapping[str, ModelFile]) -> str:
    """Return a hash of all files in the form of a commit: another content has another one."""
    lines = (f"{path} {file.size_bytes} {file.sha256}\n" for path, file in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:40]
