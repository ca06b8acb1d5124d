"""`make demo`: what a newcomer runs first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def test_the_demo_generates_each_time_and_ends_with_0(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    (tmp_path / "installed").touch()
    command = ["make", "demo", f"BIN={Path(sys.executable).parent}", "INSTALLED=installed"]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "+ .demo/lab/PLAN.md\n" in done.stdout
        assert "0 changed, 0 removed, 0 as before\n" in done.stdout
        assert "6 pins are examples or missing" in done.stderr
    assert (tmp_path / ".demo/lab/site.yml").is_file()
