"""Our judgement of command lines against vLLM's own: nothing that a release takes is refused.

Opt-in: SPARKIAC_REAL_VLLM=1, and SPARKIAC_VLLM_VENVS names a folder of virtual environments, as for
tests/catalog/test_real_vllm.py. With SPARKIAC_RECORD_VLLM=1 a sample of the lines is written to data/, with vLLM's
verdicts: ordinary runs judge those.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from sparkiac.catalog import interfaces
from sparkiac.engines.vllm_check import check_words, words
from tests.conftest import ROOT
from tests.engines.vllm_lines import Line, Maker

RELEASES: Final = ("0.15.1", "0.17.1", "0.19.0", "0.27.1", "0.32.0")
DATA: Final = Path(__file__).parent / "data"
COUNT: Final = 2400
SAMPLE: Final = 7
"""Of how many lines one is recorded: no divisor of the number of kinds, so that each kind is."""
MOST_MISSED: Final = 0.05
"""Share of lines that vLLM refuses and we let through."""
MISSED: Final = {
    "0.15.1": {"dotted": 1, "mixed": 1},
    "0.17.1": {"mixed": 1},
    "0.19.0": {"dotted": 1, "json": 1},
    "0.27.1": {"mixed": 2},
    "0.32.0": {"dotted": 2, "list_key": 1, "repeated": 1},
}
"""What is let through of the recorded lines, by how they were made."""
SERVES: Final = frozenset({"short", "deprecated", "ignored"})
"""Faults that do not keep the server from starting."""
real = pytest.mark.skipif(
    os.environ.get("SPARKIAC_REAL_VLLM") != "1",
    reason="opt-in: SPARKIAC_REAL_VLLM=1, with real releases in SPARKIAC_VLLM_VENVS",
)
each_release = pytest.mark.parametrize("version", RELEASES)


def known(version: str) -> interfaces.Interface:
    found = interfaces.interface(version)
    assert found is not None
    return found


@cache
def lines(version: str) -> list[Line]:
    return Maker(known(version)).lines(COUNT)


@cache
def verdicts(version: str) -> list[str]:
    """Parse all lines with the installed release."""
    options = known(version).options.values()
    named = {option.name[2:].replace("-", "_"): option.object for option in options if option.object}
    asked = {"lines": [line.words for line in lines(version)], "objects": named}
    start = ["bash", "-c", '[ ! -e env.sh ] || . ./env.sh; exec bin/python "$0"', ROOT / "tests/engines/real_lines.py"]
    folder = Path(os.environ["SPARKIAC_VLLM_VENVS"]) / version
    done = subprocess.run(start, cwd=folder, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: list[str] = json.loads(done.stdout)
    return answer


def refused(words: tuple[str, ...], version: str) -> bool:
    """Return whether sparkiac reports that vLLM exits on these words."""
    return any(fault.kind not in SERVES for fault in check_words(words, known(version)))


def compared(judged: list[tuple[Line, str]], version: str) -> tuple[list[Line], Counter[str]]:
    """Return the false alarms, and what we missed by how the line was made."""
    alarms = [line for line, verdict in judged if verdict == "takes" and refused(line.words, version)]
    missed = [line.kind for line, verdict in judged if verdict != "takes" and not refused(line.words, version)]
    return alarms, Counter(missed)


def recorded(version: str) -> list[tuple[Line, str]]:
    """Read the sample of a release."""
    document: list[dict[str, Any]] = json.loads((DATA / f"vllm-{version}.json").read_bytes())
    return [(Line(each["kind"], tuple(each["words"])), each["verdict"]) for each in document]


@real
@each_release
def test_nothing_that_vllm_takes_is_refused(version: str) -> None:
    judged = list(zip(lines(version), verdicts(version), strict=True))
    alarms, missed = compared(judged, version)
    assert alarms == []
    assert missed.total() < MOST_MISSED * len(judged), missed
    if os.environ.get("SPARKIAC_RECORD_VLLM") == "1":
        sample = [{"kind": line.kind, "words": line.words, "verdict": verdict} for line, verdict in judged[::SAMPLE]]
        rows = ",\n".join(json.dumps(each) for each in sample)
        (DATA / f"vllm-{version}.json").write_text(f"[\n{rows}\n]\n")


@each_release
def test_nothing_recorded_that_vllm_takes_is_refused(version: str) -> None:
    alarms, _ = compared(recorded(version), version)
    assert alarms == []


@each_release
def test_little_is_missed_of_what_vllm_refused(version: str) -> None:
    """What is missed is inside JSON values: numbers as texts, and keys that belong together."""
    judged = recorded(version)
    wrong = [line for line, verdict in judged if verdict != "takes"]
    _, missed = compared(judged, version)
    assert len(wrong) > len(judged) / 3
    assert dict(missed) == MISSED[version]


@each_release
def test_the_sample_has_every_kind_of_line_right_and_wrong(version: str) -> None:
    judged = recorded(version)
    assert len(judged) > 300
    assert {line.kind for line, _ in judged} == {line.kind for line in lines(version)}
    assert {verdict for _, verdict in judged} == {"takes", "parser", "settings", "name"}


@each_release
def test_a_line_is_read_by_its_own_options_as_by_all(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = [line.words for line in lines(version)[::SAMPLE]]
    found = [words.read(each, known(version)) for each in sample]
    monkeypatch.setattr(words, "_written_out", lambda _, interface: frozenset(interface.options))
    assert [words.read.__wrapped__(each, known(version)) for each in sample] == found
