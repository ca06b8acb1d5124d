"""Move driver, container toolkit and Docker to the pinned versions, and back to the former ones if a model fails.

These packages have one version at a time. So those of both sets lie on the host before the first is touched, and the
way back is dpkg with the former ones, without a network. A boot that nobody expects takes it before Docker starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import durable, local, software
from ..contract import decoded, validated
from ..local import LocalHost, say
from ..switch import drain
from . import checks, debs, gate, trial
from .debs import NEW, OLD, PackageMove
from .trial import FAILED, GOOD, PASSED, TRYING, TrialError

STATE = software.CHANGE
CHANGING, RETURNING = software.MIXED
BOOTING = "booting"
OPEN = (CHANGING, BOOTING, TRYING, PASSED)
"""Phases after which a boot that nobody expects goes back."""
UNFINISHED = (*OPEN, RETURNING)
UNIT = "sparkiac-packages.service"
UNIT_TEXT = """\
# Written by sparkiac. After a change of packages that was cut off, brings the former ones back before Docker starts.
[Unit]
Description=Bring the former driver, container toolkit and Docker back
ConditionPathExists=/var/lib/sparkiac/os/state.json
RequiresMountsFor=/var/lib/sparkiac /usr /var/lib/dpkg
Before=docker.service containerd.service apt-daily.service apt-daily-upgrade.service unattended-upgrades.service

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /var/lib/sparkiac/programs/kernel restore
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
"""
DOCKER = ("containerd.service", "docker.socket", "docker.service")


class PackageTrial(NamedTuple):
    """A change of packages, also one that has ended."""

    phase: str
    old: dict[str, str]
    """Packages that it changes or removes, with the versions before it."""
    new: dict[str, str]
    """Packages that it installs, with their versions."""
    files: dict[str, str]
    """Path of each package below the directory → its SHA-256."""
    boot: str
    """ID of the boot in which it began, or of the one that tries the new packages."""
    why: str
    """Why it failed."""
    speeds: dict[str, float]
    """Unit → its tokens/s just before."""
    despite: list[str]
    """Alerts that fired and were accepted."""


def read(machine: LocalHost) -> PackageTrial | None:
    """Return the last change of this host."""
    try:
        text = machine.read(STATE)
    except FileNotFoundError:
        return None
    return PackageTrial(**validated("program", STATE, decoded(STATE, text), PackageTrial))


def write(machine: LocalHost, change: PackageTrial) -> PackageTrial:
    """Replace the record of this host."""
    durable.write(machine.path(STATE), json.dumps(change._asdict(), indent=1).encode() + b"\n")
    say(f"packages: {change.phase}" + (f": {change.why}" if change.why else ""))
    return change


def unfinished(machine: LocalHost) -> PackageTrial | None:
    """Return the change that has not ended."""
    change = read(machine)
    return change if change and change.phase in UNFINISHED else None


def lines(move: PackageMove) -> Iterator[str]:
    """Yield what a change of packages would do."""
    for name, version in move.new.items():
        yield f"install {name} {version}" + (f" instead of {move.old[name]}" if name in move.old else "")
    yield from (f"remove {name}" for name in move.gone)
    then = "reboot, because the driver changes" if move.reboots else "restart Docker"
    yield f"stop every container of the host, also those of others, and {then}"


def begin(machine: LocalHost, packages: dict[str, str], despite: list[str]) -> PackageTrial | None:
    """Let a unit move to the pinned packages; return None if there is nothing to do.

    Raise TrialError with all reasons if it is refused; then nothing was changed.
    """
    change = unfinished(machine)
    if change is None:
        wanted = debs.wanted(machine, packages)
        if not wanted:
            return None
        move = debs.planned(machine, wanted)
        trial.require(debs.refusals(machine, move))
        files, speeds = debs.fetched(machine, move), gate.speeds(machine)
        trial.install_unit(machine, UNIT, UNIT_TEXT)
        trial.install_unit(machine)
        boot = trial.boot_id(machine)
        change = write(machine, PackageTrial(CHANGING, *move, files, boot, "", speeds, despite))
    if change.phase != PASSED:
        machine.run("systemctl", "start", "--no-block", trial.UNIT)
    return change


def settle(machine: LocalHost) -> None:
    """Do the next step of a change, in a unit that needs no controller."""
    change = read(machine)
    if change is None:
        return
    if change.phase == CHANGING:
        forward(machine, change)
    elif change.phase == TRYING:
        judge(machine, change)
    elif change.phase == RETURNING:
        give_up(machine, change, change.why)


def forward(machine: LocalHost, change: PackageTrial) -> None:
    """Install the new packages, and reboot or ask the gate."""
    stop(machine)
    try:
        exchange(machine, change, NEW)
        trial.require(module_faults(machine, change))
    except (TrialError, OSError) as error:
        give_up(machine, change, str(error))
        return
    if PackageMove(change.old, change.new).reboots:
        write(machine, change._replace(phase=BOOTING))
        machine.run("systemctl", "reboot")
    else:
        change = write(machine, change._replace(phase=TRYING))
        start(machine)
        judge(machine, change)


def restore(machine: LocalHost) -> None:
    """Early in a boot: let the new packages run if it is theirs, otherwise bring the former ones back."""
    change = unfinished(machine)
    if change is None or (change.phase in OPEN and change.boot == trial.boot_id(machine)):
        return
    if change.phase == BOOTING and is_whole(machine, change, NEW):
        write(machine, change._replace(phase=TRYING, boot=trial.boot_id(machine)))
    elif change.phase == RETURNING and is_whole(machine, change, OLD):
        write(machine, change._replace(phase=FAILED))
    else:
        give_up(machine, change, change.why or "the host was started again before its end", booting=True)


def judge(machine: LocalHost, change: PackageTrial) -> None:
    """Keep the new packages if the gate passes; in a group, only when the playbook says so."""
    if found := gate.faults(machine, change.speeds):
        give_up(machine, change, "\n".join(found))
        return
    write(machine, change._replace(phase=PASSED))
    if not gate.grouped(machine):
        accept(machine)


def accept(machine: LocalHost) -> PackageTrial:
    """Keep the new packages. Raise TrialError if they have not passed."""
    change = read(machine)
    if change is None or change.phase not in (PASSED, GOOD):
        raise TrialError("no packages that are installed now have passed the gate")
    return write(machine, change._replace(phase=GOOD))


def back(machine: LocalHost, why: str) -> None:
    """Let the unit bring the former packages back, if the change has not ended."""
    if change := unfinished(machine):
        write(machine, change._replace(phase=RETURNING, why=why))
        machine.run("systemctl", "restart", "--no-block", trial.UNIT)


def give_up(machine: LocalHost, change: PackageTrial, why: str, *, booting: bool = False) -> None:
    """Bring the former packages back, and reboot if another driver is loaded, or none; at a boot, units start later."""
    change = write(machine, change._replace(phase=RETURNING, why=why))
    if not booting:
        stop(machine)
    try:
        if not is_whole(machine, change, OLD):
            exchange(machine, change, OLD, "--force-overwrite")
    except TrialError:
        if not booting:
            start(machine)  # what needs no GPU runs
        raise
    libraries = software.libraries(software.installed(machine)) or ()
    if PackageMove(change.old, change.new).reboots and software.driver(machine) not in libraries:
        machine.run("systemctl", "reboot")
        return
    write(machine, change._replace(phase=FAILED))
    if not booting:
        start(machine)
        for text in gate.not_ready(machine, gate.units_of(machine)[1]):
            say(text)


def exchange(machine: LocalHost, change: PackageTrial, side: str, *force: str) -> None:
    """Install the packages of one set, and remove those that only the other has; raise TrialError if one differs."""
    machine.run("apt-get", "-o", "DPkg::Lock::Timeout=600", "check")  # waits for a run of APT, as dpkg does not
    trial.require(debs.damaged(machine, change.files, side))
    gone = PackageMove(change.old, change.new).gone if side == NEW else PackageMove(change.new, change.old).gone
    if gone:
        dpkg(machine, "--force-depends,remove-reinstreq", "--remove", *gone)
    errors = dpkg(machine, *force, "--install", *debs.paths(machine, change.files, side))
    if not is_whole(machine, change, side):
        raise TrialError(f"the packages of the {'new' if side == NEW else 'former'} set are not installed: {errors}")


def dpkg(machine: LocalHost, *words: str) -> str:
    """Run dpkg so that it asks nothing, and that no package starts or stops a service; return its errors."""
    quiet = ("env", "SYSTEMD_OFFLINE=1", "DEBIAN_FRONTEND=noninteractive")
    done = machine.run(*quiet, "dpkg", "--force-confdef,confold", *words)
    return " ".join(done.errors.split())


def is_whole(machine: LocalHost, change: PackageTrial, side: str) -> bool:
    """Return whether exactly the packages of one set are installed."""
    there = software.installed(machine)
    wanted = change.new if side == NEW else change.old
    return all(there.get(name) == wanted.get(name) for name in {*change.old, *change.new})


def module_faults(machine: LocalHost, change: PackageTrial) -> Iterator[str]:
    """Yield that the module of the next boot is not that of the new libraries."""
    version = checks.field(machine, "version", trial.running(machine))
    libraries = software.libraries(change.new) or (version,)
    if version not in libraries:
        kernel = trial.running(machine)
        yield f"the module {checks.GPU_MODULE} of {kernel} has version {version or 'none'}, not {libraries[0]}"


def stop(machine: LocalHost) -> None:
    """Stop our units, clients before their servers, and Docker."""
    units = [local.unit_file(unit["name"]) for unit in reversed(gate.units_of(machine)[1])]
    machine.run("systemctl", "stop", *units)
    machine.run("systemctl", "stop", *reversed(DOCKER))
    drain.undrain(machine)  # each port stays closed until its unit has passed


def start(machine: LocalHost) -> None:
    """Start Docker from the files that are installed now."""
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", *DOCKER)


def is_over(machine: LocalHost) -> bool:
    """Return whether a change has ended, or waits for its group."""
    change = unfinished(machine)
    return change is None or (change.phase == PASSED and gate.grouped(machine))


def shown(machine: LocalHost) -> dict[str, Any] | None:
    """Return the last change for other programs."""
    change = read(machine)
    return change and {"phase": change.phase, "why": change.why, "new": change.new}
