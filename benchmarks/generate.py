"""Whole-process times: what a person waits for.

`python benchmarks/generate.py` prints the median of 20 runs of a bare interpreter that imports the libraries, of
`sparkiac --help`, and of `sparkiac generate` of the lab into an empty folder. Run it on a quiet machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 20
BARE = "import pydantic, jinja2, yaml"
USABLE = "from pydantic import BaseModel; import jinja2, yaml"
"""`import pydantic` alone loads next to nothing: its names are imported when they are first used."""


def median_ms(commands: list[list[str]]) -> list[float]:
    """Time the commands in turn, so that a slow moment of the machine meets them all."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(RUNS):
        for command, found in zip(commands, times, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
                found.append(1000 * (time.perf_counter() - start))
    return [statistics.median(found) for found in times]


def main() -> None:
    """Print the table."""
    sparkiac = [sys.executable, "-m", "sparkiac"]
    names = ["bare imports", "usable imports", "sparkiac --help", "sparkiac generate lab"]
    commands = [
        [sys.executable, "-c", BARE],
        [sys.executable, "-c", USABLE],
        [*sparkiac, "--help"],
        [*sparkiac, "generate", str(ROOT / "inventories/lab.yaml")],
    ]
    found = median_ms(commands)
    for name, value in zip(names, found, strict=True):
        print(f"{name:<24}{value:8.1f} ms  {value / found[0]:5.2f} x bare  {value / found[1]:5.2f} x usable")


if __name__ == "__main__":
    main()
