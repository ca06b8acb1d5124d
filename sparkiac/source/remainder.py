"""Judge what is left of an inventory without its faulty entries, so that one run reports the faults of all stages.

An entry is left out if a fault is in it, or if it names an entry that is left out. What depends on a section that every
entry needs, such as `defaults`, is not judged: any finding could follow from the fault there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from sparkiac import source
from sparkiac.report import Finding, Path, Severity
from sparkiac.source.document import Document

M = TypeVar("M", bound=BaseModel)
Span = tuple[tuple[int, int], tuple[int, int]]
_UNITS: Final = frozenset({"deployments", "services"})
_ENTRIES: Final = _UNITS | {"hosts", "retired", "platforms"}
"""Sections whose entries can be left out one by one."""
_WHOLE: Final = frozenset({("monitoring",), ("rollout",)})
"""Sections that can be left out, because no finding about a deployment or service follows from that."""


class Judgement(NamedTuple):
    """Findings of the later stages about an inventory without some entries."""

    consequences: tuple[Finding, ...]
    """Findings about names of entries that are left out."""
    findings: tuple[Finding, ...]
    complete: bool
    """Whether the rules have run."""


def errors(
    document: Document, faults: Iterable[Finding], model: type[M], judge: Callable[[source.Source[M]], Judgement]
) -> Iterator[Finding]:
    """Yield the errors in deployments and services that are left without the entries with these faults.

    Findings about hosts are not among them: a sum over the units of a host lacks those that are left out.
    """
    gone: set[Path] = set()
    spans = _spans(document)
    while document.data is not None:
        faulty = {_entry(spans, document, each) for each in faults}
        if None in faulty or faulty <= gone:
            return
        gone |= {path for path in faulty if path is not None}
        left = _without(document, gone, model)
        if left is None:
            return
        found = judge(left)
        for each in found.findings:
            path = _entry(spans, document, each)
            if each.severity is Severity.ERROR and path is not None and path[0] in _UNITS and path not in gone:
                yield each
        if found.complete:
            return
        faults = found.consequences or found.findings


def _spans(document: Document) -> dict[Path, Span]:
    """Return the parts that can be left out, with line and column of their start and of their end."""
    found: dict[Path, Span] = {}
    for path, key in document.keys.items():
        if (len(path) == 2 and path[0] in _ENTRIES) or path in _WHOLE:  # noqa: PLR2004  section and name
            ends = (key, document.values.get(path, key))
            found[path] = key[:2], max((mark.end_line, mark.end_column) for mark in ends)
    return found


def _entry(spans: dict[Path, Span], document: Document, finding: Finding) -> Path | None:
    """Return the part that a finding is in; None if no part that can be left out contains it."""
    if finding.loc is None or finding.loc.file != document.name:
        return None
    position = finding.loc.mark[:2]
    return next((path for path, (start, end) in spans.items() if start <= position < end), None)


def _without(document: Document, gone: Collection[Path], model: type[M]) -> source.Source[M] | None:
    """Return an inventory without some entries; None if the rest is not valid."""
    data: Any = document.data
    kept = {
        section: {name: each for name, each in entries.items() if (section, name) not in gone}
        if section in _ENTRIES and isinstance(entries, dict)
        else entries
        for section, entries in data.items()
        if (section,) not in gone
    }
    try:
        value = model.model_validate(kept)
    except ValidationError:
        return None
    values, keys = (
        {path: mark for path, mark in marks.items() if path[:1] not in gone and path[:2] not in gone}
        for marks in (document.values, document.keys)
    )
    return source.Source(document._replace(data=kept, values=values, keys=keys), value, ())
