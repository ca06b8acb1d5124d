"""What a machine is, asked over ssh by the reader that the preflight has. Nothing is installed, nothing is changed."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final, NamedTuple

from sparkiac.assets import directory
from sparkiac.upstream import ssh

_SECONDS: Final = 120
"""It takes a second or two; nvidia-smi without its persistence daemon takes some more."""
_DOCKER: Final = "/var/lib/docker"
"""Where images lie."""
_PARTS: Final = (
    ("preflight_host", "playbooks", "roles/programs/files/usr/local/lib/sparkiac/preflight_host.py"),
    ("facts", "templates", "machine/facts.py"),
)
_PROGRAM: Final = """\
import sys, types
for name, text in {parts}:
    part = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), part.__dict__)
sys.exit(part.main(sys.argv[1:], part.LocalHost()))
"""
"""Its parts become modules under their own names, as in the playbooks."""


class Unasked(Exception):  # noqa: N818  what became of it
    """A machine could not be asked; the text says why and what to do."""


class Link(NamedTuple):
    """A fast link that is up."""

    interface: str
    hca: str
    address: str
    """With the length of its prefix."""


class Machine(NamedTuple):
    """What a machine says of itself. None is what it does not tell, and `unknown` says why."""

    name: str | None
    architecture: str | None
    memory_bytes: int | None
    gpu: str | None
    driver: str | None
    links: tuple[Link, ...]
    disks: tuple[tuple[str, int], ...]
    """Directory and free bytes where it is or will be."""
    unknown: tuple[tuple[str, str], ...]


def ask(target: str, *, store: str) -> Machine:
    """Ask the machine at `target`, [USER@]ADDRESS, which ssh must reach without a question. Raises Unasked."""
    command = ssh.command(target, ("python3", "-", _DOCKER, store))
    try:
        done = subprocess.run(  # noqa: S603  the target is a word of its own, behind `--`
            command, input=_program(), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        message = f"{target} cannot be asked: there is no ssh here; install it, or say --host NAME=ADDRESS"
        raise Unasked(message) from None
    except subprocess.TimeoutExpired:
        message = f"{target} said nothing for {_SECONDS} s; try `ssh {target} true`"
        raise Unasked(message) from None
    if done.returncode != 0:
        raise Unasked(_why(target, done.returncode, done.stderr))
    return read(done.stdout, target)


def read(text: str, target: str) -> Machine:
    """Read what a machine said. Raises Unasked."""
    try:
        data: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
        gpu, _, driver = (data["gpus"] or [(None, None, None)])[0]
        return Machine(
            data["name"],
            data["architecture"],
            data["memory_bytes"],
            gpu,
            driver,
            tuple(Link(**each) for each in data["links"] or ()),
            tuple((each["path"], each["free_bytes"]) for each in data["disks"] or ()),
            tuple(data["unknown"].items()),
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        message = f"{target} answered something that are no facts: {text.strip()[:120]!r}"
        raise Unasked(message) from None


def _program() -> str:
    parts = [(name, (directory(kind) / path).read_text(encoding="utf-8")) for name, kind, path in _PARTS]
    return _PROGRAM.format(parts=repr(parts))


def _why(target: str, code: int, said: str) -> str:
    last = ssh.last_line(said, f"it ended with {code}")
    if code == ssh.FAILED:
        return f"ssh does not reach {target}: {last}; it must do so without a question: `ssh-copy-id {target}`"
    if code == ssh.NO_COMMAND:
        return f"{target} has no python3: {last}; install it, or say --host NAME=ADDRESS"
    return f"{target} could not say what it is: {last}"
