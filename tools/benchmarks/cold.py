"""CPU time of newly started processes, compared with a process that only imports the libraries.

`python tools/benchmarks/cold.py` prints the median of 25 runs, user and system time together, and its ratio to the
imports. The commands run in turn, so that a slow moment of the machine meets all of them, and byte code is written
once before, as an installation has it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = 25
SPARKIAC = (sys.executable, "-m", "sparkiac")
COMMANDS = {
    "imports": (sys.executable, "-c", "import pydantic, jinja2, yaml; from pydantic import BaseModel"),
    "sparkiac --help": (*SPARKIAC, "--help"),
    "sparkiac check lab": (*SPARKIAC, "check", "inventories/lab.yaml"),
    "sparkiac generate lab --check": (*SPARKIAC, "generate", "inventories/lab.yaml", "--check"),
}
"""Name → command line. The first one is the measure; `import pydantic` alone loads next to nothing."""


def seconds(command: tuple[str, ...], environment: dict[str, str]) -> float:
    """Return the CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environment = kept | {"PYTHONPYCACHEPREFIX": folder}
        rounds = [[seconds(each, environment) for each in COMMANDS.values()] for _ in range(1 + RUNS)][1:]
    medians = [1000 * statistics.median(column) for column in zip(*rounds, strict=True)]
    for name, found in zip(COMMANDS, medians, strict=True):
        print(f"{name:<30}{found:7.0f} ms  {found / medians[0]:5.2f} x imports")


if __name__ == "__main__":
    main()
