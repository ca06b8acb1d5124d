"""Try another kernel once, and make it the default only if the models of this host answer well with it.

kernel look      what begin would do, and why it would be refused (JSON on standard input: the pinned packages)
kernel begin     prepare the next boot: first the proof of the way back, then the trial (the same, and `despite`)
kernel wait      wait until the host has kept the kernel or gone back, and print the status
kernel status    the running kernel and the last trial
kernel accept    make a kernel that has passed the default; a host without a group does so itself
kernel back WHY  give up a trial that has not ended
Called by systemd after each boot: kernel settle.

Each command prints one JSON object. Exit status: 0 done, 1 refused or failed (one sentence on stderr), 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..contract import parsed, validated
from ..local import LocalHost
from ..switch.run import STEP_ERRORS
from . import checks, trial


class WantedKernel(NamedTuple):
    """What the playbook sends."""

    packages: dict[str, str]
    """The pinned packages."""
    despite: list[str]
    """Alerts that fire and are accepted."""


def wanted(text: str) -> WantedKernel:
    """Return what was asked for."""
    return WantedKernel(**validated("program", "standard input", parsed(text), WantedKernel))


def look(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what begin would do."""
    asked = wanted(sys.stdin.read())
    kernel, now, state = checks.release_of(asked.packages), trial.running(machine), trial.read(machine)
    left = state.trial is not None and state.trial.phase in trial.OPEN
    if kernel in {None, now} and not left:
        return {"changes": False, "lines": []}
    lines = [] if state.proven else [f"reboot once into {now}, to prove that GRUB comes back"]
    lines.append(f"try kernel {kernel} instead of {now}, and go back if a model does not answer well")
    return {"changes": True, "lines": lines, "refused": trial.refusals(machine, asked.packages)}


def begin(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Prepare the next boot."""
    found = trial.begin(machine, *wanted(sys.stdin.read()))
    return {"phase": found.phase if found else None}


def settle(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Go on after a boot."""
    trial.settle(machine)
    return trial.shown(machine)


def wait(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Wait for the end of a trial."""
    trial.wait(machine)
    return trial.shown(machine)


def back(machine: LocalHost, arguments: argparse.Namespace) -> dict[str, Any]:
    """Give up the trial."""
    found = trial.back(machine, arguments.why)
    return {"reboot": found is not None and trial.running(machine) != found.former}


COMMANDS: dict[str, Callable[[LocalHost, argparse.Namespace], dict[str, Any]]] = {
    "look": look,
    "begin": begin,
    "wait": wait,
    "status": lambda machine, _: trial.shown(machine),
    "accept": lambda machine, _: {"phase": trial.accept(machine).phase},
    "back": back,
    "settle": settle,
}


def main(argv: list[str]) -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(prog="kernel", description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="root directory of the host, for tests")
    commands = parser.add_subparsers(dest="command", required=True)
    kinds = {name: commands.add_parser(name) for name in COMMANDS}
    kinds["back"].add_argument("why", metavar="WHY")
    arguments = parser.parse_args(argv)
    try:
        found = COMMANDS[arguments.command](LocalHost(arguments.root), arguments)
    except STEP_ERRORS as error:
        sys.stderr.write(f"kernel {arguments.command}: {error}\n")
        return 1
    sys.stdout.write(json.dumps(found) + "\n")
    return 0
