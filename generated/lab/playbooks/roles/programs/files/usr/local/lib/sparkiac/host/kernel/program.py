"""Try another kernel, or another driver, container toolkit and Docker, and keep them if the models answer well.

kernel look      what begin would do, and why it would be refused (JSON on standard input: `WantedKernel`)
kernel begin     begin the next step (the same): the proof of the way back, the trial of the kernel, or
                 the change of the other packages
kernel wait      wait until the host has kept what it tries or gone back, and print the status
kernel status    the running kernel, and the last trials
kernel accept    keep what has passed; a host without a group does so itself
kernel back WHY  give up a trial that has not ended
Called by systemd at each boot: kernel restore, before Docker, and kernel settle.

Each command prints one JSON object. Exit status: 0 done, 1 refused or failed (one sentence on stderr), 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import software
from ..contract import parsed, validated
from ..local import LocalHost
from ..switch.run import STEP_ERRORS
from . import checks, debs, packages, trial


class WantedKernel(NamedTuple):
    """What the playbook sends."""

    packages: dict[str, str]
    """The pinned packages."""
    despite: list[str]
    """Alerts that fire and are accepted."""
    parameters: list[str]
    """The declared kernel parameters."""
    pins: str
    """Name of the pinned set; empty without one."""


def wanted(text: str) -> WantedKernel:
    """Return what was asked for."""
    return WantedKernel(**validated("program", "standard input", parsed(text), WantedKernel))


def look(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what begin would do."""
    asked = wanted(sys.stdin.read())
    moves, left = debs.wanted(machine, asked.packages), packages.unfinished(machine)
    kernel = changes_kernel(machine, asked)
    refused = [*(trial.refusals(machine, asked.packages) if kernel else ())]
    lines = [*(kernel_lines(machine, asked) if kernel else ())]
    if moves:
        try:
            move = debs.planned(machine, moves)
            refused += debs.refusals(machine, move) if not left else ()
            lines += packages.lines(move) if not refused else ()
        except trial.TrialError as error:
            refused.append(str(error))
    return {"changes": bool(kernel or moves or left), "lines": lines, "refused": refused, "hangs": kernel}


def changes_kernel(machine: LocalHost, asked: WantedKernel) -> bool:
    """Return whether the next step is one of the kernel: packages that follow it move afterwards."""
    last = trial.read(machine).trial
    open_ = last is not None and last.phase in trial.OPEN
    kernel = checks.release_of(asked.packages) or trial.running(machine)
    return open_ or checks.differs(machine, kernel, asked.parameters)


def kernel_lines(machine: LocalHost, asked: WantedKernel) -> Iterator[str]:
    """Yield what a trial of the pinned kernel would do."""
    now = trial.running(machine)
    if not trial.read(machine).proven:
        yield f"reboot once into {now}, to prove that GRUB comes back"
    yield f"try {described(machine, now, asked)}, and go back if a model does not answer well"


def described(machine: LocalHost, now: str, asked: WantedKernel) -> str:
    """Return what would be tried, in words."""
    kernel = checks.release_of(asked.packages) or now
    found = f"kernel {kernel}" + (f" instead of {now}" if kernel != now else "")
    lacking = software.lacking(software.line(machine, software.CMDLINE), asked.parameters)
    left = software.undeclared(software.own_parameters(machine), asked.parameters)
    return found + "".join(
        f" {how} {', '.join(words)}" for how, words in (("with", lacking), ("without", left)) if words
    )


def begin(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Begin the next step; say of what it is, whether the caller reboots, and whether another step follows."""
    asked = wanted(sys.stdin.read())
    if packages.unfinished(machine) or not changes_kernel(machine, asked):
        change = packages.begin(machine, asked.packages, asked.despite)
        return {"of": "packages", "phase": change and change.phase, "reboot": False, "again": False}
    found = trial.begin(machine, *asked)
    phase = found and found.phase
    again = phase == trial.PROVING or bool(debs.wanted(machine, asked.packages))
    return {"of": "trial", "phase": phase, "reboot": phase in (trial.PROVING, trial.TRYING), "again": again}


def settle(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Go on with what is tried."""
    trial.settle(machine)
    packages.settle(machine)
    return shown(machine)


def restore(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Bring the former packages back at a boot, if their change was cut off."""
    packages.restore(machine)
    return shown(machine)


def wait(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Wait for the end of a trial."""
    trial.wait(machine)
    trial.wait(machine, packages.is_over)
    return shown(machine)


def accept(machine: LocalHost, _arguments: argparse.Namespace) -> dict[str, Any]:
    """Keep what has passed."""
    change = packages.unfinished(machine)
    return {"phase": (packages.accept(machine) if change else trial.accept(machine)).phase}


def back(machine: LocalHost, arguments: argparse.Namespace) -> dict[str, Any]:
    """Give up what has not ended; say whether the caller must reboot."""
    packages.back(machine, arguments.why)
    found = trial.back(machine, arguments.why)
    return {"reboot": found is not None and not trial.is_former(machine, found)}


def shown(machine: LocalHost) -> dict[str, Any]:
    """Return the state of the host."""
    return {**trial.shown(machine), "packages": packages.shown(machine)}


COMMANDS: dict[str, Callable[[LocalHost, argparse.Namespace], dict[str, Any]]] = {
    "look": look,
    "begin": begin,
    "wait": wait,
    "status": lambda machine, _: shown(machine),
    "accept": accept,
    "back": back,
    "restore": restore,
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
