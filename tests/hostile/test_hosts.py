"""Hosts that were taken over: `ssh` is a stand-in that checks how it is called, and then floods, drips or lies."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from tests.hostile import measured
from tests.plan.fleets import LOCK, PAIR

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS: Final = ("status", "lab.yaml")
VERIFY: Final = ("verify", "lab.yaml")
INIT: Final = ("init", "made", "--from-host", "10.9.0.1", "--recipe", "base/single-spark", "--model", "o/m")
FABRIC: Final = ("fabric", "verify", "lab.yaml")
DIAGNOSE: Final = ("diagnose", "--inventory", "lab.yaml", "--deployment", "big")
LOGS: Final = ("logs", "lab.yaml", "big")
CAPTURE: Final = ("images", "capture", "a/b:1", "--host", "10.9.0.1", "--output", "made.json")
FLOOD: Final = "printed more than 1048576 bytes"
LOG_FLOOD: Final = "printed more than 12582912 bytes"
MANY: Final = "JSON with more than 20000 values"
UNEXPECTED: Final = "spark-01: unexpected output; check what a login on the host prints"
NO_NUMBER: Final = "unexpected output, at clock.begin_s: 'nan'"


class HostCase(NamedTuple):
    """What hosts do, a command that asks them, and what it says."""

    does: str
    words: tuple[str, ...]
    code: int
    said: str


CASES: Final = (
    HostCase("floods", STATUS, 1, FLOOD),
    HostCase("floods", VERIFY, 6, FLOOD),
    HostCase("floods", INIT, 2, FLOOD),
    HostCase("floods", FABRIC, 6, FLOOD),
    HostCase("floods", DIAGNOSE, 6, LOG_FLOOD),
    HostCase("floods", LOGS, 6, UNEXPECTED),
    HostCase("floods", CAPTURE, 6, LOG_FLOOD),
    HostCase("floods lines", STATUS, 1, FLOOD),
    HostCase("floods lines", LOGS, 6, UNEXPECTED),
    HostCase("floods errors", STATUS, 1, FLOOD),
    HostCase("floods errors", INIT, 2, FLOOD),
    HostCase("floods errors", LOGS, 6, "no response within 60 s"),
    HostCase("many items", STATUS, 1, MANY),
    HostCase("many items", VERIFY, 6, MANY),
    HostCase("many items", INIT, 2, MANY),
    HostCase("many items", FABRIC, 6, MANY),
    HostCase("many items", LOGS, 6, UNEXPECTED),
    HostCase("many items", CAPTURE, 6, "the interface of the vLLM in a/b:1 on 10.9.0.1 cannot be read"),
    HostCase("deep", STATUS, 1, MANY),
    HostCase("deep", VERIFY, 6, MANY),
    HostCase("deep", INIT, 2, MANY),
    HostCase("deep", LOGS, 6, UNEXPECTED),
    HostCase("deep and closed", STATUS, 1, MANY),
    HostCase("deep and closed", FABRIC, 6, MANY),
    HostCase("long word", STATUS, 1, "unexpected output, at clock"),
    HostCase("no number", STATUS, 1, NO_NUMBER),
    HostCase("cut off", STATUS, 1, "unexpected output, at the line"),
    HostCase("not text", VERIFY, 6, "the prober: unexpected output, at the line"),
    HostCase("control characters", STATUS, 1, r"\x1b[2J\x1b]0;pwn\x07"),
    HostCase("leaves a process", STATUS, 1, "unexpected output, at clock"),
    HostCase("leaves a process", INIT, 2, "unexpected output, at name"),
    HostCase("drips", STATUS, 1, "ssh did not end within 20 s"),
    HostCase("is silent", STATUS, 1, "ssh did not end within 20 s"),
    HostCase("is silent", INIT, 2, "did not end within 120 s"),
)
OFTEN: Final = frozenset({("floods", STATUS), ("deep", LOGS), ("many items", INIT), ("leaves a process", STATUS)})
"""What `make test` tries; `make test-deep` tries all."""


@pytest.fixture
def lab(tmp_path: Path) -> Mapping[str, str]:
    """Make an inventory of two hosts; give the environment in which `ssh` is the stand-in."""
    (tmp_path / "lab.yaml").write_text(PAIR)
    (tmp_path / "lab.lock.yaml").write_text(LOCK)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/ssh"
    program.write_text(f"#!{sys.executable}\n{Path(__file__).with_name('ssh.py').read_text()}")
    program.chmod(0o755)
    return {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path), "COLUMNS": "500"}


def listed() -> list[object]:
    """Return the cases; the rare ones are deep."""
    return [
        pytest.param(case, id=f"{case.words[0]}, {case.does}", marks=() if case[:2] in OFTEN else pytest.mark.deep)
        for case in CASES
    ]


@pytest.mark.parametrize("case", listed())
def test_a_hostile_host_costs_little_and_is_named(case: HostCase, lab: Mapping[str, str], tmp_path: Path) -> None:
    found = measured.run(*case.words, cwd=tmp_path, env={**lab, "HOSTILE_SSH": case.does})
    assert case.said in found.text, found
    assert (found.code, found.left) == (case.code, []), found
    assert "Traceback" not in found.text
    assert "\x1b[2J" not in found.text
    assert found.peak_bytes < measured.MOST_BYTES, found
