"""Read files of other tools: the containers that they start, and the files that cannot be read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.inputs import printable, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sparkiac.importers import Unreadable
    from sparkiac.importers.draft import DraftEntry
    from sparkiac.importers.launch import Launch
    from sparkiac.report import Finding

_STDIN: Final = "-"
_MAX_BYTES: Final = 1 << 20


class Foreign(NamedTuple):
    """Result of reading files of other tools."""

    entries: tuple[tuple[str, DraftEntry], ...]
    """Pairs of a file and a deployment or service; empty if a file cannot be read."""
    skipped: tuple[str, ...]
    """Files of a directory that contain nothing to import."""
    findings: tuple[Finding, ...]
    """One finding for each file that cannot be read."""


def read(files: Sequence[Path], source: str | None = None) -> Foreign:
    """Read files, directories and standard input (`-`) in the given format, or detect each format.

    Raises click.UsageError for a file that is not there.
    """
    from sparkiac import importers
    from sparkiac.importers import assemble, redaction

    launches: list[tuple[str, Launch]] = []
    skipped: list[str] = []
    findings: list[Finding] = []
    hidden = frozenset[str]()
    for name, raw, named in _texts(files):
        text = ""
        try:
            text = _decoded(raw)
            launches += [(name, launch) for launch in _launches(text, name, source)]
            hidden |= redaction.secret_values(text)
        except importers.Unreadable as error:
            if not named and (not text or isinstance(error, importers.NothingToImport)):
                skipped.append(name)
            else:
                findings.append(_finding(name, error, redaction.safe_line(text, error.line)))
    try:
        entries = () if findings else assemble.entries(launches, hidden)
    except importers.Unreadable as error:
        entries, findings = (), [_finding(error.file or launches[0][0], error)]
    return Foreign(tuple(entries), tuple(skipped), tuple(findings))


def one_recipe(entries: Sequence[tuple[str, DraftEntry]]) -> str:
    """Return the recipe of the only server that the files start. Raises click.UsageError for another number."""
    from sparkiac.importers import assemble

    deployments = [(file, entry) for file, entry in entries if entry.kind == "deployment"]
    if len(deployments) != 1:
        names = ", ".join(entry.name for _, entry in deployments) or "none"
        reject(f"a recipe starts one server, and the files start {len(deployments)}: {names}")
    return assemble.recipe(*deployments[0])


def _launches(text: str, name: str, source: str | None) -> Sequence[Launch]:
    from sparkiac import importers

    chosen = source or importers.recognised(text, name)
    if chosen is None:
        message = f"format not recognised; set it with `sparkiac import --from`, one of {', '.join(importers.FORMATS)}"
        raise importers.NothingToImport(message)
    return importers.named(chosen).read(text, name=name)


def _texts(files: Sequence[Path]) -> Iterator[tuple[str, bytes, bool]]:
    """Return each file with its bytes and whether it was named itself; a directory's files in order of name."""
    for path in files:
        printable(path)
        if str(path) == _STDIN:
            yield "standard input", sys.stdin.buffer.read(_MAX_BYTES + 1), True
        elif path.is_dir():
            for each in sorted(path.rglob("*")):
                if each.is_file() and not any(part.startswith(".") for part in each.relative_to(path).parts):
                    yield str(printable(each)), _bytes(each), False
        elif path.is_file():
            yield str(path), _bytes(path), True
        else:
            reject(f"{click.format_filename(path)} does not exist or is not a file")


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _decoded(raw: bytes) -> str:
    from sparkiac.importers import Unreadable

    if len(raw) > _MAX_BYTES:
        message = f"the file has more than {_MAX_BYTES} bytes"
        raise Unreadable(message)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {raw[error.start]:#04x} is not UTF-8"
        raise Unreadable(message, line=raw.count(b"\n", 0, error.start) + 1) from None


def _finding(file: str, error: Unreadable, line: str = "") -> Finding:
    from sparkiac.report import Finding, Loc, Mark, Severity

    mark = Mark(error.line, error.column, error.line, error.column + 1)
    return Finding("IMP001", "unreadable", Severity.ERROR, str(error), Loc(file, mark, line))
