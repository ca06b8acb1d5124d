"""`sparkiac generate`, killed before calls that change the disk: the tree is the old one or the new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EVERY: int = 1
SAMPLE: int = 30


@pytest.mark.parametrize("stride", [SAMPLE, pytest.param(EVERY, marks=pytest.mark.deep)])
def test_killed_generate_leaves_one_whole_tree(tmp_path: Path, stride: int) -> None:
    for name in ("lab.yaml", "lab.lock.yaml"):
        shutil.copy(ROOT / "inventories" / name, tmp_path)
    done = subprocess.run(
        [sys.executable, ROOT / "tests/generate_killer.py", str(stride)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stderr.splitlines()[-1])
    assert seen["calls"] > 300
    assert seen["old"] + seen["new"] >= seen["calls"] // stride
    assert min(seen["old"], seen["new"]) >= 5
