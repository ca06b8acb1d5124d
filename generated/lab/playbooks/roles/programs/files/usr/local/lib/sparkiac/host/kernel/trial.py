"""The trial of a kernel: what is recorded of it, how it begins, and how it ends.

The running kernel stays GRUB's default until the end. A boot that nobody expects, such as after a power cut, starts it.
The first trial of a host is of the running kernel: it proves that GRUB starts an entry once, and forgets it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .. import durable, software
from ..contract import decoded, validated
from ..local import LocalHost, say
from . import checks, gate, grub, installing
from .checks import beside, following

STATE = "/var/lib/sparkiac/kernel.json"
PROVING, TRYING, PASSED, GOOD, FAILED = "proving", "trying", "passed", "good", "failed"
OPEN = (PROVING, TRYING, PASSED)
"""Phases of a trial that has not ended."""
ADDED: dict[str, Any] = {"parameters": [], "former_parameters": [], "pins": ""}
"""Keys that the records of older versions of sparkiac do not have."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"
UNIT = "sparkiac-kernel.service"
UNIT_TEXT = """\
# Written by sparkiac. Asks whether the models answer well with a kernel or packages that are tried, or goes back.
[Unit]
Description=Keep or give up the kernel or the packages that are tried
ConditionPathExists=|/var/lib/sparkiac/kernel.json
ConditionPathExists=|/var/lib/sparkiac/os/state.json
RequiresMountsFor=/var/lib/sparkiac /boot
Wants=network-online.target
After=network-online.target docker.service sparkiac-recover.service sparkiac-packages.service

[Service]
Type=exec
ExecStart=/usr/bin/python3 /var/lib/sparkiac/programs/kernel settle

[Install]
WantedBy=multi-user.target
"""
POLL_S = 1
IDLE_POLLS = 60
"""Polls after which a trial that no unit works on has failed: the unit may not have been started yet."""


class TrialError(RuntimeError):
    """The kernel is not tried, and the host is as before."""


class Trial(NamedTuple):
    """A trial, also one that has ended."""

    phase: str
    kernel: str
    former: str
    """Kernel that ran before it; the same one in the first trial of a host."""
    parameters: list[str]
    """Kernel parameters of sparkiac with which it is tried."""
    former_parameters: list[str]
    """Those that held before it."""
    pins: str
    """Name of the set that it is of, for the menu; empty without one."""
    boot: str
    """ID of the boot in which it began."""
    why: str
    """Why it failed, or what is left to do."""
    packages: dict[str, str]
    """Packages that follow the kernel when it is good."""
    added: list[str]
    """Packages that were not there before: they are removed if it fails."""
    speeds: dict[str, float]
    """Unit → its tokens/s just before."""
    despite: list[str]
    """Alerts that fired and were accepted."""


class KernelState(NamedTuple):
    """What is known about trials of kernels on this host."""

    proven: bool
    """Whether GRUB of this host has started an entry once, and forgotten it."""
    trial: Trial | None


def read(machine: LocalHost) -> KernelState:
    """Return the record of this host."""
    try:
        text = machine.read(STATE)
    except FileNotFoundError:
        return KernelState(proven=False, trial=None)
    record = decoded(STATE, text)
    if isinstance(record, dict) and isinstance(record.get("trial"), dict):
        record["trial"] = {**ADDED, **record["trial"]}
    found = validated("program", STATE, record, KernelState)
    return KernelState(found["proven"], Trial(**found["trial"]) if found["trial"] else None)


def write(machine: LocalHost, state: KernelState) -> None:
    """Replace the record of this host."""
    found = {"proven": state.proven, "trial": state.trial and state.trial._asdict()}
    durable.write(machine.path(STATE), json.dumps(found, indent=1).encode() + b"\n")


def enter(machine: LocalHost, phase: str, why: str = "", *, proven: bool = False) -> Trial:
    """Record the next phase of the trial."""
    state = read(machine)
    assert state.trial is not None  # noqa: S101 - the callers have read it
    trial = state.trial._replace(phase=phase, why=why)
    write(machine, KernelState(state.proven or proven, trial))
    say(f"kernel {trial.kernel}: {phase}" + (f": {why}" if why else ""))
    return trial


def running(machine: LocalHost) -> str:
    """Return the running kernel."""
    return str(software.line(machine, software.RELEASE))


def boot_id(machine: LocalHost) -> str:
    """Return the ID of this boot."""
    return str(software.line(machine, BOOT_ID))


def is_tried(machine: LocalHost, trial: Trial) -> bool:
    """Return whether this boot has the kernel and the parameters of a trial."""
    return checks.booted(machine, trial.kernel, trial.parameters, trial.former_parameters)


def is_former(machine: LocalHost, trial: Trial) -> bool:
    """Return whether this boot has what ran before a trial."""
    return checks.booted(machine, trial.former, trial.former_parameters, trial.parameters)


def refusals(machine: LocalHost, packages: dict[str, str]) -> list[str]:
    """Return why the kernel of a set is not tried on this host. A host without pins keeps its kernel."""
    kernel, now = checks.release_of(packages), running(machine)
    missing = [] if kernel or not packages else ["the pins of this host name no kernel"]
    own = beside(packages, kernel) if kernel and kernel != now else {}
    return [*missing, *checks.before(machine, now, own)]


def require(refused: Iterable[str]) -> None:
    """Raise TrialError if something is refused."""
    if found := [*refused]:
        raise TrialError("; ".join(found))


def begin(
    machine: LocalHost, packages: dict[str, str], despite: list[str], declared: Sequence[str] = (), pins: str = ""
) -> Trial | None:
    """Prepare the next boot: the proof, or the trial of the kernel of a set with the declared parameters.

    Return None if there is nothing to do. Raise TrialError with all reasons if it is refused; then the running kernel
    is the default of the next boots.
    """
    require(refusals(machine, packages))
    now, own = running(machine), software.own_parameters(machine)
    kernel, state = checks.release_of(packages) or now, read(machine)
    last = state.trial
    if last and last.phase in OPEN and kernel == last.kernel and is_tried(machine, last):
        return last  # a former run has left it before its end
    if not checks.differs(machine, kernel, [*declared]):
        return None
    lacking = software.lacking(software.line(machine, software.CMDLINE), declared)
    parameters = [word for word in declared if word in own or word in lacking]
    tried = (TRYING, kernel, now, parameters, own) if state.proven else (PROVING, now, now, own, own)
    added = last.added if last and last.kernel == tried[1] else []
    trial = Trial(*tried, pins, boot_id(machine), "", {}, added, {}, despite)
    return prepared(machine, trial, packages if state.proven and kernel != now else {})


def prepared(machine: LocalHost, trial: Trial, packages: dict[str, str]) -> Trial:
    """Install the kernel, offer it to GRUB, and choose it for one boot; undo all of that if it is refused."""
    grub.keep(machine, trial.former, trial.former_parameters)
    own = beside(packages, trial.kernel)
    added = sorted({*own, *trial.added} - ({*software.installed(machine)} - {*trial.added}))
    trial = trial._replace(packages=following(packages, trial.kernel), added=added, speeds=gate.speeds(machine))
    try:
        write(machine, KernelState(read(machine).proven, trial))
        install_unit(machine)
        installing.beside(machine, own, trial.packages)
        require(checks.after(machine, trial.former, trial.kernel, own))
        grub.offer(machine, trial.kernel, trial.parameters, trial.former_parameters)
        grub.remember(machine, grub.NEXT, grub.TRIAL)
    except (grub.GrubError, installing.InstallError, TrialError, OSError) as error:
        give_up(machine, trial, str(error))
        raise TrialError(str(error)) from error
    return trial


def install_unit(machine: LocalHost, name: str = UNIT, text: str = UNIT_TEXT) -> None:
    """Install a unit for the boots of a trial: if no other, the one that ends it."""
    durable.write(machine.path(f"/etc/systemd/system/{name}"), text.encode(), 0o644)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "enable", name)


def settle(machine: LocalHost) -> None:
    """Go on with a trial after a reboot: ask the gate whether the kernel is good, or reboot into the former one."""
    trial = read(machine).trial
    if trial and trial.phase == FAILED and trial.added:
        give_up(machine, trial, trial.why)
    if trial is None or trial.phase not in OPEN or boot_id(machine) == trial.boot:
        return
    if trial.phase == PROVING:
        prove(machine, trial)
    elif not is_tried(machine, trial):
        what = "kernel" if trial.kernel != trial.former else "parameters"
        give_up(machine, trial, f"the host started the former {what} again: the trial did not start, or not to its end")
    elif found := [] if trial.phase == PASSED else gate.faults(machine, trial.speeds):
        give_up(machine, trial, "\n".join(found))
        machine.run("systemctl", "reboot")
    else:
        enter(machine, PASSED)
        if not gate.grouped(machine):
            accept_alone(machine)


def accept_alone(machine: LocalHost) -> None:
    """Keep what has passed without waiting for others, or reboot into what ran before if GRUB does not take it."""
    try:
        accept(machine)
    except TrialError:
        machine.run("systemctl", "reboot")


def prove(machine: LocalHost, trial: Trial) -> None:
    """Record whether GRUB has started the entry that was chosen once, and forgotten it."""
    forgotten = not grub.environment(machine).get(grub.NEXT)
    once = software.PANIC in machine.read(software.CMDLINE).split()
    grub.keep(machine, trial.former, trial.former_parameters)
    if forgotten and once:
        enter(machine, GOOD, proven=True)
        return
    did = "did not start the entry that was chosen for one boot" if not once else "did not forget the entry after it"
    enter(machine, FAILED, f"GRUB {did}: the way back from another kernel is not proven")


def accept(machine: LocalHost) -> Trial:
    """Make the kernel the default, and install the packages that follow it. Raise TrialError if it has not passed."""
    trial = read(machine).trial
    if trial is None or trial.phase not in (PASSED, GOOD) or not is_tried(machine, trial):
        raise TrialError("no kernel that runs now has passed its gate")
    try:
        grub.adopt(machine, trial.kernel, trial.parameters)
        grub.name_sets(machine, trial.pins, (trial.former, trial.kernel), trial.parameters)
    except grub.GrubError as error:
        give_up(machine, trial, str(error))
        raise TrialError(str(error)) from error
    try:
        installing.follow(machine, trial.packages)
    except installing.InstallError as error:
        return enter(machine, GOOD, f"packages that follow the kernel are not installed: {error}")
    return enter(machine, GOOD)


def give_up(machine: LocalHost, trial: Trial, why: str) -> Trial:
    """Make the former kernel the default, and if it runs remove what the trial has installed."""
    grub.keep(machine, trial.former, trial.former_parameters)
    if trial.added and running(machine) == trial.former:
        installing.purge(machine, trial.added)
        grub.keep(machine, trial.former, trial.former_parameters)
        trial = trial._replace(added=[])
    write(machine, read(machine)._replace(trial=trial))
    return enter(machine, FAILED, why)


def back(machine: LocalHost, why: str) -> Trial | None:
    """Give up a trial that has not ended; return it, or None if there is none. The caller reboots if it runs."""
    trial = read(machine).trial
    return give_up(machine, trial, why) if trial and trial.phase in OPEN else None


def ended(machine: LocalHost) -> bool:
    """Return whether the trial of a kernel has ended, or waits for its group, and a host that goes back has booted."""
    trial = read(machine).trial
    if trial is None or trial.phase in (PASSED, GOOD):
        return trial is None or trial.phase == GOOD or (gate.grouped(machine) and is_tried(machine, trial))
    return trial.phase == FAILED and is_former(machine, trial) and not trial.added


def wait(machine: LocalHost, is_over: Callable[[LocalHost], bool] = ended) -> None:
    """Wait until a trial is over; raise TrialError if nothing works on it."""
    idle = 0
    while not is_over(machine):
        state = machine.run("systemctl", "show", "--property=ActiveState", "--value", UNIT).output.strip()
        idle = idle + 1 if state in ("", "inactive", "failed") else 0
        if idle > IDLE_POLLS:
            raise TrialError(f"the trial has not ended; see journalctl --unit={UNIT}")
        time.sleep(POLL_S)


def shown(machine: LocalHost) -> dict[str, Any]:
    """Return the state for other programs."""
    state = read(machine)
    return {"running": running(machine), "proven": state.proven, "trial": state.trial and state.trial._asdict()}
