"""Report of an import: the result for each launch, then the findings of the draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sparkiac.foreign.draft import DraftEntry
from sparkiac.foreign.launch import grouped
from sparkiac.report import Report, Severity, characters
from sparkiac.report.hints import OPEN_POINT
from sparkiac.source.wording import dotted
from sparkiac.words import findings
from sparkiac.words.page import Data

_KINDS: Final = {"corrected": "corrected", "unused": "not used", "lost": "lost"}
"""Kind of a note → its label."""


def lost(entries: Sequence[tuple[str, DraftEntry]]) -> bool:
    """Return whether something of a launch was lost."""
    return any(note.kind == "lost" for _, entry in entries for note in entry.notes)


def failed(report: Report) -> bool:
    """Return whether a draft has an error besides values to fill in."""
    return any(each.severity is Severity.ERROR and each.code != OPEN_POINT for each in report.findings)


def text(entries: Sequence[tuple[str, DraftEntry]], skipped: Sequence[str], report: Report, *, colour: bool) -> str:
    """Return the report as text."""
    lines = [line for file, entry in entries for line in _entry(file, entry)]
    lines += [f"{file}: skipped, no known launch found" for file in skipped]
    numbers = {"understood": sum(len(entry.items) for _, entry in entries)}
    for kind, word in _KINDS.items():
        numbers[word] = sum(note.kind == kind for _, entry in entries for note in entry.notes)
    numbers["to fill in"] = sum(finding.code == OPEN_POINT for finding in report.findings)
    summary = f"{len(entries)} imported: {', '.join(f'{number} {word}' for word, number in numbers.items())}"
    checked = findings.as_text(report, colour=colour) or f"{findings.counts(report)}\n"
    return (
        "".join(f"{characters.escaped_line(line)}\n" for line in (*lines, summary))
        + f"check of the draft, without its lock:\n{checked}"
    )


def data(entries: Sequence[tuple[str, DraftEntry]], skipped: Sequence[str], report: Report) -> Data:
    """Return the report as plain data."""
    return {
        "imported": [_plain(file, entry) for file, entry in entries],
        "not_recognised": list(skipped),
        "findings": [findings.data_of(finding) for finding in report.findings],
    }


def _entry(file: str, entry: DraftEntry) -> Iterator[str]:
    became = f"{entry.kind} {entry.name}" if entry.kind != "nothing" else "nothing"
    if entry.recipe is not None:
        became += (
            f", recipe {entry.recipe}" if entry.same_model else f", on {entry.recipe}: no recipe is known for its model"
        )
    yield f"{file}:{entry.launch.line}: {became}"
    if entry.items:
        yield f"  understood: {', '.join(dict.fromkeys(item.what for item in entry.items))}"
    for kind, word in _KINDS.items():
        for each in grouped(note for note in entry.notes if note.kind == kind):
            yield f"  {word}, {each.place}: {each.what}: {each.why}"


def _plain(file: str, entry: DraftEntry) -> Data:
    notes = {
        kind: [{"line": note.line, "what": note.what, "why": note.why} for note in entry.notes if note.kind == kind]
        for kind in _KINDS
    }
    return {
        "file": file,
        "line": entry.launch.line,
        "kind": entry.kind,
        "name": entry.name,
        "recipe": entry.recipe,
        "recipe_of_this_model": entry.same_model,
        "understood": [{"line": item.line, "what": item.what, "key": dotted(item.path)} for item in entry.items],
        **notes,
    }
