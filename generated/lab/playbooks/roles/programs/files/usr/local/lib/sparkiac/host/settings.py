"""Settings of a host: those of the kernel in /proc/sys, and those that only a command reads and sets.

All of them are listed in the plan of a generation as key and value, and restored when no generation sets them any more.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from . import local
from .generation import CLOCK_CAP, EARLYOOM, TARGET
from .local import LocalHost

NONE = "none"
"""Value of a setting that is not set."""
CAP_RECORD = "/run/sparkiac/gpu-clock"
"""The cap that was set since the boot. No command of the driver prints it, and a reboot loses both."""
TOLERANCE_MHZ = 15
"""The GPU has steps of 15 MHz; a clock that is further above the cap shows that the cap is lost."""
CLOCK = ("timeout", "10", "nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits")
REFUSED = ("not supported", "warning")
"""What nvidia-smi prints if it set nothing; its exit status may still be 0."""


class Commanded(NamedTuple):
    """How a setting is read and set without the kernel."""

    read: Callable[[LocalHost], str]
    put: Callable[[LocalHost, str], None]


def read(machine: LocalHost, key: str) -> str:
    """Return the value of a setting, its words separated by spaces; raise OSError if it cannot be read."""
    if key in COMMANDED:
        return COMMANDED[key].read(machine)
    return " ".join(kernel_file(machine, key).read_text(encoding="utf-8").split())


def value_of(machine: LocalHost, key: str) -> str | None:
    """Return the value of a setting; None if it cannot be read."""
    try:
        return read(machine, key)
    except OSError:
        return None


def put(machine: LocalHost, key: str, value: str) -> None:
    """Set a setting; raise OSError if that fails."""
    if key in COMMANDED:
        COMMANDED[key].put(machine, value)
    else:
        kernel_file(machine, key).write_text(value + "\n", encoding="ascii")


def kernel_file(machine: LocalHost, key: str) -> Path:
    """Return the file of a kernel setting."""
    return machine.path("/proc/sys/" + key.replace(".", "/"))


def owner(key: str) -> str:
    """Return what has a setting: the kernel, or the host."""
    return "host" if key in COMMANDED else "kernel"


def commanded(machine: LocalHost, *argv: str) -> str:
    """Return the output of a command; raise OSError if it fails."""
    done = machine.run(*argv)
    if done.code:
        said = (done.errors or done.output).split() or [f"exit status {done.code}"]
        raise OSError(f"{' '.join(argv)}: {' '.join(said)}")
    return done.output.strip()


def clock_cap(machine: LocalHost) -> str:
    """Return the cap of the GPU's clock. It is lost if the clock is above it."""
    path = machine.path(CAP_RECORD)
    cap = path.read_text(encoding="ascii").strip() if path.exists() else NONE
    if cap == NONE:
        return NONE
    clock = commanded(machine, *CLOCK).splitlines()[:1]
    lost = clock and clock[0].strip().isdigit() and int(clock[0]) > int(cap) + TOLERANCE_MHZ
    return NONE if lost else cap


def put_clock_cap(machine: LocalHost, cap: str) -> None:
    """Cap the GPU's clock, or remove the cap."""
    option = "--reset-gpu-clocks" if cap == NONE else f"--lock-gpu-clocks=0,{cap}"
    said = commanded(machine, "timeout", "10", "nvidia-smi", option)
    if any(word in said.lower() for word in REFUSED):
        raise OSError(f"nvidia-smi {option}: {' '.join(said.split())}")
    local.write(machine, CAP_RECORD, cap)


def target(machine: LocalHost) -> str:
    """Return the target that the next boot reaches."""
    return commanded(machine, "systemctl", "get-default")


def put_target(machine: LocalHost, name: str) -> None:
    """Set the target of the next boot. What runs now stays: stopping a desktop would end the work of its user."""
    commanded(machine, "systemctl", "set-default", name)


def earlyoom(machine: LocalHost) -> str:
    """Return the arguments of the earlyoom that runs."""
    pid = commanded(machine, "systemctl", "show", "--property=MainPID", "--value", "earlyoom.service")
    if pid in ("", "0"):
        return NONE
    return " ".join(machine.read(f"/proc/{pid}/cmdline").rstrip("\0").split("\0")[1:]) or NONE


def put_earlyoom(machine: LocalHost, arguments: str) -> None:
    """Start earlyoom again with what its files say, or stop it if it did not run before sparkiac."""
    commanded(machine, "systemctl", "daemon-reload")
    if arguments == NONE:
        commanded(machine, "systemctl", "disable", "--now", "earlyoom.service")
    else:
        commanded(machine, "systemctl", "enable", "earlyoom.service")
        commanded(machine, "systemctl", "restart", "earlyoom.service")


COMMANDED = {
    CLOCK_CAP: Commanded(clock_cap, put_clock_cap),
    TARGET: Commanded(target, put_target),
    EARLYOOM: Commanded(earlyoom, put_earlyoom),
}
