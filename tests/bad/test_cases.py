"""Each file in cases/ is refused, with every fault at its line and column, and nothing else.

A case starts with comments that say what is wanted: the exit code, then line:column and code of each finding.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkiac.console import run
from tests.bad.running import read

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
_WANTED = re.compile(r"^# (\d+):(\d+) ((?:[A-Z]{3}|MN)[0-9]{3})$", re.MULTILINE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_bad_file_is_refused(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = case.read_text(encoding="utf-8")
    wanted = [(int(found[1]), int(found[2]), found[3]) for found in _WANTED.finditer(text)]
    code = run(["check", str(case)])
    checked = read(case, code, *capsys.readouterr())
    assert text.startswith(f"# exit {checked.code}\n")
    assert checked.findings == wanted
    assert wanted
    assert checked.code in {1, 2}


def test_each_finding_has_one_place() -> None:
    for case in CASES:
        found = _WANTED.findall(case.read_text(encoding="utf-8"))
        places = [place for *place, code in found if code not in {"INV001", "INV003"}]
        assert len(places) == len({tuple(place) for place in places}), case
