"""Launches that people run on these machines: `check` of their drafts has no error without a proof.

The files are not part of the project; without them these tests are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import pipeline
from sparkiac.commands.import_ import read_files
from sparkiac.foreign import assemble
from sparkiac.report import Severity
from sparkiac.report.hints import OPEN_POINT
from tests.importers.test_corpus import CORPUS

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.report import Finding

FILES: Final = {str(path.relative_to(CORPUS)): path for path in sorted(CORPUS.rglob("*/*")) if path.is_file()}
PROVEN: Final = {
    ("nvidia-playbooks/vllm.md", "FLG010"): "the page runs the command on four machines, and the draft names one",
}
"""File and code → why the draft would not run as it is."""
ABOVE: Final = "eugr-v1/step-3.7-flash-fp8.yaml"
"""The only launch of vLLM without a share: its patch sets one in bytes."""


def findings(path: Path) -> list[Finding]:
    """Import each launch of a file alone and check its draft."""
    drafts = [assemble.inventory((entry,), "imported", ()) for entry in read_files((path,)).entries]
    files = (pipeline.InputFile("draft.yaml", draft.encode()) for draft in drafts)
    return [each for file in files for each in pipeline.check(file, None, allow_unlocked=True).report.findings]


@pytest.mark.skipif(not FILES, reason="the recipes of other people are not here")
@pytest.mark.parametrize("name", FILES)
def test_a_launch_that_runs_elsewhere_has_no_error_without_a_proof(name: str) -> None:
    found = [each for each in findings(FILES[name]) if each.code != OPEN_POINT]
    errors = {(name, each.code) for each in found if each.severity is Severity.ERROR}
    assert errors == {each for each in PROVEN if each[0] == name}
    shares = [
        each.message for each in found if each.code == "MEM001" and "mem_fraction_static" not in (each.hint or "")
    ]
    assert bool(shares) == (name == ABOVE)
    assert not [each for each in found if each.code == "ENV101" and "did you mean" in (each.hint or "")]


@pytest.mark.skipif(not FILES, reason="the recipes of other people are not here")
@pytest.mark.parametrize("name", FILES)
def test_each_difference_of_a_draft_has_its_reason(name: str) -> None:
    notes = [
        (note.line, note.what)
        for _, entry in read_files((FILES[name],)).entries
        for note in entry.notes
        if "refused: the draft has" in note.why
    ]
    assert notes == []
