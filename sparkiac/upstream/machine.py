"""Read memory, driver and disks of a machine over ssh, with the preflight's own program.

Nothing is installed on the machine or changed there.
"""

from __future__ import annotations

from typing import Final

from sparkiac.upstream import bundle, ssh
from sparkiac.upstream.reported import Number, ReportedFacts, Text

_TIMEOUT_S: Final = 120
"""Reading takes a second or two, or longer if nvidia-smi runs without its persistence daemon."""
_DOCKER: Final = "/var/lib/docker"
"""Directory of docker's images."""
PORTS: Final = (
    *("__init__.py", "durable.py", "preflight/__init__.py", "preflight/fabric.py", "preflight/host.py"),
    *("sent/__init__.py", "sent/ports.py"),
)
"""What `sent.ports` imports."""


class MachineError(Exception):
    """Facts about a machine could not be read; the text gives the reason and says what to do."""


class FreeDisk(ReportedFacts):
    """A directory and the free bytes of its disk."""

    path: Text
    free_bytes: Number


class Machine(ReportedFacts):
    """Facts about a machine. None stands for an unknown value, with the reason in `unknown`."""

    name: Text | None
    architecture: Text | None
    memory_bytes: Number | None
    gpus: tuple[tuple[Text, Text, Text], ...] | None
    """Name, compute capability and driver version of each GPU."""
    disks: tuple[FreeDisk, ...] | None
    unknown: dict[Text, Text]


def inspect(target: str, *, store: str) -> Machine:
    """Read the machine at `target`, [USER@]ADDRESS, which must accept ssh without a password. Raises MachineError."""
    sent = bundle.of("sent.facts", (*PORTS, "sent/facts.py"), _DOCKER, store)
    try:
        done = ssh.run(target, ("python3", *sent.words), program=sent.text, timeout_s=_TIMEOUT_S)
    except FileNotFoundError:
        message = f"ssh is not installed on this machine, so {target} cannot be read; install it, or use --host"
        raise MachineError(message) from None
    except ssh.TimedOut:
        message = f"{target}: no output within {_TIMEOUT_S} s; try `ssh {target} true`"
        raise MachineError(message) from None
    if done.returncode != 0:
        raise MachineError(_reason(target, done.returncode, done.stderr))
    try:
        return Machine.of_output(done.stdout)
    except ValueError as error:
        message = f"{target}: {error}; check what a login there prints"
        raise MachineError(message) from None


def _reason(target: str, code: int, output: str) -> str:
    last = ssh.last_line(output, f"exit code {code}")
    if code == ssh.FAILED:
        return f"no ssh connection to {target}: {last}; it must work without a password: `ssh-copy-id {target}`"
    if code == ssh.NO_COMMAND:
        return f"{target} has no python3: {last}; install it, or use --host NAME=ADDRESS"
    return f"{target} could not be read: {last}"
