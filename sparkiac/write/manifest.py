"""The manifest `.sparkiac-manifest.json`: the files that sparkiac wrote, and the inputs they were generated from.

No other file of the tree contains the version of sparkiac. The tree to write includes the manifest.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sparkiac.report.artifact import Artifact
from sparkiac.write import tree
from sparkiac.write.staging import UnsafeTarget

MANIFEST = ".sparkiac-manifest.json"
MISSING = "missing"
VERSION = 1
_FORBIDDEN_PARTS = frozenset({"", ".", "..", ".git"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MODE = re.compile(r"0[0-7]{3}")


class Stamp(NamedTuple):
    """Hash and executable bit of a file: files with the same stamp count as equal, as in Git.

    The other permission bits depend on the umask of the user who clones the repository (0002 on Ubuntu), so they are
    not compared.
    """

    sha256: str
    executable: bool

    @staticmethod
    def of(content: bytes, mode: int) -> Stamp:
        """Return the stamp of a content with these permission bits."""
        return Stamp(hashlib.sha256(content).hexdigest(), executable=bool(mode & stat.S_IXUSR))


class Owned(NamedTuple):
    """The files in an existing manifest; if it is missing or damaged, no files and the problem."""

    files: Mapping[str, Stamp]
    problem: str = ""


class _CorruptError(Exception):
    """The manifest is not in the format that `dump` writes."""

    def __init__(self, *, problem: str) -> None:
        super().__init__(problem)


def unsafe_path(path: str) -> str:
    """Return why a path cannot be a file of the tree; empty if it can."""
    if path.startswith("/"):
        return "an absolute path"
    if _CONTROL.search(path) or "\\" in path:
        return "a control character, a lone surrogate or a backslash in the path"
    bad = _FORBIDDEN_PARTS.intersection(path.split("/"))
    return f"the path has the part {min(bad)!r}" if bad else ""


def dump(
    files: Mapping[str, Artifact], stamps: Mapping[str, Stamp], *, inputs: Mapping[str, str], generator: str
) -> bytes:
    """Return the manifest of these files, sorted so that a diff shows only the lines of changed files."""
    records = {path: {"sha256": stamps[path].sha256, "mode": f"{file.mode:04o}"} for path, file in files.items()}
    document = {"version": VERSION, "generator": generator, "inputs": dict(inputs), "files": records}
    found = io.BytesIO()
    text = io.TextIOWrapper(found, "utf-8", newline="\n")  # in parts: the whole text of a large fleet takes much memory
    json.dump(document, text, indent=1, sort_keys=True, ensure_ascii=False)
    text.write("\n")
    text.flush()
    return found.getvalue()


def files(root: Path) -> frozenset[str]:
    """Return the paths of the files that sparkiac wrote into a directory; none if it wrote nothing there."""
    try:
        return frozenset(load(root).files)
    except NotADirectoryError:
        return frozenset()


def load(root: Path) -> Owned:
    """Read the manifest of an existing tree. A missing or damaged one has no files and names the problem."""
    path = root / MANIFEST
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return Owned({}, "not a plain file")
        return Owned(_parse(path.read_bytes()))
    except FileNotFoundError:
        return Owned({}, MISSING)
    except _CorruptError as error:
        return Owned({}, str(error))


def _parse(text: bytes) -> dict[str, Stamp]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _CorruptError(problem="damaged: not JSON") from error
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version < VERSION:
        raise _CorruptError(problem="damaged: no version")
    if version > VERSION:
        raise _CorruptError(problem=f"written by a newer sparkiac (manifest version {version})")
    files = document.get("files")
    if not isinstance(files, dict):
        raise _CorruptError(problem="damaged: no list of files")
    return {path: _stamp(path, record) for path, record in files.items()}


def _stamp(path: str, record: object) -> Stamp:
    if unsafe_path(path) or path.split("/", maxsplit=1)[0] == MANIFEST:
        raise _CorruptError(problem=f"damaged: names {path!r}")
    digest, mode = (record.get("sha256"), record.get("mode")) if isinstance(record, dict) else (None, None)
    if not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise _CorruptError(problem=f"damaged: no sha256 of {path}")
    if not (isinstance(mode, str) and _MODE.fullmatch(mode)):
        raise _CorruptError(problem=f"damaged: no mode of {path}")
    return Stamp(digest, executable=bool(int(mode, 8) & stat.S_IXUSR))


class GeneratedTree(NamedTuple):
    """The generated files by path, sorted, and their stamps."""

    files: Mapping[str, Artifact]
    stamps: Mapping[str, Stamp]

    @staticmethod
    def of(artifacts: Sequence[Artifact]) -> GeneratedTree:
        """Return the tree of these files without a manifest. Raises `UnsafeTarget` with all invalid paths."""
        problems = _problems(artifacts)
        if problems:
            raise UnsafeTarget(problems, reason="these artifacts cannot form one tree of files")
        files = {artifact.path: artifact for artifact in sorted(artifacts, key=lambda artifact: artifact.path)}
        return GeneratedTree(files, {path: Stamp.of(file.content, file.mode) for path, file in files.items()})

    @staticmethod
    def with_manifest(artifacts: Sequence[Artifact], *, inputs: Mapping[str, str], generator: str) -> GeneratedTree:
        """Return the tree of these files and their manifest. Raises `UnsafeTarget` with all invalid paths."""
        files, stamps = GeneratedTree.of(artifacts)
        own = Artifact(MANIFEST, dump(files, stamps, inputs=inputs, generator=generator))
        return GeneratedTree({MANIFEST: own, **files}, {MANIFEST: Stamp.of(own.content, own.mode), **stamps})


def _problems(artifacts: Sequence[Artifact]) -> dict[str, str]:
    problems: dict[str, str] = {}
    paths = {artifact.path for artifact in artifacts}
    seen: set[str] = set()
    for path in (artifact.path for artifact in artifacts):
        above = [parent for parent in tree.ancestors(path) if parent in paths]
        if unsafe_path(path):
            problems[path] = unsafe_path(path)
        elif path == MANIFEST or path.startswith(f"{MANIFEST}/") or tree.carried(path):
            problems[path] = "a reserved name"
        elif path in seen:
            problems[path] = "generated twice"
        elif above:
            problems[path] = f"{above[0]} is a file as well"
        seen.add(path)
    return problems
