"""`kill -9`, at random moments and at every single call: the tree is the former one or the new one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from .trees import HERE, SCRIPT

if TYPE_CHECKING:
    from pathlib import Path

WRONG = {"torn", "mixed", "lost", "wrong after the next run", "left after the next run"}


def kill(where: Path, *arguments: str) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, HERE / "killer.py", *arguments], cwd=where, capture_output=True, check=False, **SCRIPT
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, int] = json.loads(done.stdout)
    assert seen.keys() & WRONG == set(), seen
    assert seen["whole"] == seen["kills"]
    return seen


@pytest.mark.parametrize("kills", [40, pytest.param(200, marks=pytest.mark.deep)])
def test_kills_at_random_moments(tmp_path: Path, kills: int) -> None:
    seen = kill(tmp_path, "random", "exchange", str(kills))
    assert seen["kills"] == kills
    assert seen["killed in the middle"] > kills // 4
    assert "between renames" not in seen


def test_kills_at_random_moments_of_the_fallback(tmp_path: Path) -> None:
    assert kill(tmp_path, "random", "fallback", "50")["kills"] == 50


@pytest.mark.parametrize(("way", "gaps"), [("exchange", 0), ("fallback", 1)])
def test_a_kill_before_each_call(tmp_path: Path, way: str, gaps: int) -> None:
    seen = kill(tmp_path, "sweep", way, "1000")
    assert 100 < seen["kills"] < 999
    assert seen.get("between renames", 0) == gaps
