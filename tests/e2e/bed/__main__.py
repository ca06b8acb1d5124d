"""The bed by hand: `python -m tests.e2e.bed up | down | ssh N CMD | run CMD… | push REPOSITORY`.

It is the bed `dev`, or the one that $SPARKIAC_BED_PREFIX names, and stays up until `down`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.e2e.bed.bed import Bed
from tests.e2e.bed.shell import BedError


def main(argv: list[str]) -> int:
    """Do one command and return its exit status."""
    bed = Bed(os.environ.get("SPARKIAC_BED_PREFIX", "dev"))
    match argv:
        case ["up"]:
            started = time.monotonic()
            bed.up().keep()
            print(f"bed {bed.prefix} is up after {time.monotonic() - started:.1f} s: {bed.directory}")  # noqa: T201
        case ["down"]:
            bed.down()
        case ["ssh", number, *command]:
            target = f"spark@{bed.hosts[f'spark-{int(number):02}'].address}"
            return in_terminal(bed, ["ssh", *bed.ssh_options, target, *command])
        case ["run", *command] if command:
            return in_terminal(bed, command)
        case ["push", repository]:
            print(f"{bed.registry}/{repository}@{bed.push(repository)}")  # noqa: T201
        case _:
            print(__doc__, file=sys.stderr)  # noqa: T201
            return 2
    return 0


def in_terminal(bed: Bed, command: list[str]) -> int:
    """Run a command on the control station with this terminal as its own."""
    return subprocess.run(bed.inside(command), check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BedError as error:
        sys.exit(f"bed: {error}")
