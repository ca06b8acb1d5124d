"""A few milliseconds, and nothing slow to import."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from .trees import SCRIPT, generation, put

if TYPE_CHECKING:
    from pathlib import Path


def fastest(target: Path, tags: str) -> float:
    times = []
    for tag in tags:
        start = time.perf_counter()
        put(generation(tag, count=60), target)
        times.append(time.perf_counter() - start)
    return min(times)


def test_sixty_files_take_milliseconds(target: Path) -> None:
    """Measured 13 ms and 4 ms; the bounds leave room for a busy machine."""
    put(generation("a", count=60), target)
    assert fastest(target, "bababababa") < 0.1
    assert fastest(target, "aaaaaaaaaa") < 0.05


def test_nothing_slow_is_imported() -> None:
    program = "import sys, sparkiac.write; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, **SCRIPT)
    slow = {"pydantic", "jinja2", "yaml", "rich", "click", "ctypes", "difflib", "shutil", "subprocess", "tempfile"}
    assert slow.isdisjoint(done.stdout.split())
