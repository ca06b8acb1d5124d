"""Read a YAML file into a document with positions and a validated model.

`load` is the stage: no later stage reads YAML, and every finding about the file has a position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from sparkiac.report import Finding, Severity
from sparkiac.source.gate import MAX_FAULTS, read

if TYPE_CHECKING:
    from sparkiac.source.document import Document

M = TypeVar("M", bound=BaseModel)
_MISSING: Final = "INV003"


class Source(NamedTuple, Generic[M]):
    """One file: its document, the model if the file is valid, and the findings."""

    document: Document
    value: M | None
    findings: tuple[Finding, ...]

    @property
    def valid(self) -> M:
        """The model of a file that is known to be valid."""
        assert self.value is not None, "an earlier stage has checked the file"  # noqa: S101
        return self.value


def load(raw: bytes, *, name: str, model: type[M]) -> Source[M]:
    """Read `raw` as a strict YAML document called `name` and validate it as `model`.

    Never raises for the file's content: all errors are returned together as findings, up to MAX_FAULTS.
    """
    document, findings = read(raw, name=name)
    if document.data is None:
        return Source(document, None, _first(findings))
    try:
        value = model.model_validate(document.data)
    except ValidationError as error:
        from sparkiac.source.validation import explain  # noqa: PLC0415  only a faulty file needs it

        more, document = explain(error, document=document, model=model, limit=MAX_FAULTS + 1)
        return Source(document, None, _first(_merged(findings, more, document)))
    return Source(document, None if findings else value, findings)


def _merged(of_text: tuple[Finding, ...], of_model: tuple[Finding, ...], document: Document) -> tuple[Finding, ...]:
    """Join the findings of both stages. The model's findings about values with a syntax error are dropped."""
    places = {_start(finding) for finding in of_text}
    news = [finding for finding in of_model if finding.code == _MISSING or _start(finding) not in places]
    return (*(finding._replace(loc=document.loc(finding.loc.mark)) for finding in of_text if finding.loc), *news)


def _start(finding: Finding) -> tuple[int, int] | None:
    return finding.loc and finding.loc.mark[:2]


def _first(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Limit the number of findings; the last one says that there are more."""
    if len(findings) <= MAX_FAULTS:
        return findings
    chosen = sorted(findings, key=Finding.sort_key)[:MAX_FAULTS]
    message = f"only the first {MAX_FAULTS} errors of this file are shown"
    return (*chosen, Finding("YML009", "too-many", Severity.ERROR, message, chosen[-1].loc))
