"""Nothing slow to import: a command pays for it at every start."""

from __future__ import annotations

import subprocess
import sys

from .trees import SCRIPT


def test_nothing_slow_is_imported() -> None:
    program = "import sys, sparkiac.write; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, **SCRIPT)
    slow = {"pydantic", "jinja2", "yaml", "rich", "click", "ctypes", "difflib", "shutil", "subprocess", "tempfile"}
    assert slow.isdisjoint(done.stdout.split())
