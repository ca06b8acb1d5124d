"""Run Ansible's programs: ansible-playbook, whose events are read, and ansible-vault.

Vaults are encrypted and decrypted over standard input and output: plain text is never in a file.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sparkiac.report.assets import directory
from sparkiac.upstream import programs
from sparkiac.upstream.programs import AttachedProgram, ProgramError

Event = Mapping[str, Any]

_PLAYBOOK: Final = "ansible-playbook"
_TICK_S: Final = 0.2
"""Longest time between two calls of `waited`."""
_BLOCK: Final = 1 << 16
_LONGEST_EVENT: Final = 1 << 24
_LONGEST_SOCKETS: Final = 75
"""Longest path of a directory for sockets: macOS allows 103 characters, of which Ansible and ssh add 28."""
_VAULT: Final = "ansible-vault"
_VAULT_TIMEOUT_S: Final = 120
_MARK: Final = b"$ANSIBLE_VAULT;"


class PlaybookRun(NamedTuple):
    """What to run."""

    tree: Path
    """Generated directory."""
    playbook: str
    """Path of the playbook in the tree."""
    options: tuple[str, ...]
    """Options of ansible-playbook; relative paths in them start in the current directory."""
    log: Path
    """File to which Ansible's own output is appended; the sockets of ssh are in its directory."""


def run(wanted: PlaybookRun, on_event: Callable[[Event], None], waited: Callable[[], None]) -> int:
    """Run a playbook and return its exit code. Pass each event to `on_event`; call `waited` several times a second.

    Ansible prompts for passwords on the terminal. It gets standard input only if that is not the terminal: otherwise a
    pause between two batches would wait for a key after an interrupt. After an interrupt, wait for Ansible to end and
    raise KeyboardInterrupt. Raises ProgramError and OSError.
    """
    options = ("-i", str(wanted.tree / "inventory.yml"), *wanted.options, str(wanted.tree / wanted.playbook))
    reader, writer = os.pipe()
    try:
        with wanted.log.open("ab") as output:
            words = (program(_PLAYBOOK), *options)
            process = AttachedProgram(words, env=_environment(wanted, writer), log=output, events=writer)
        os.close(writer)
        writer = -1
        try:
            for event in _events(reader, process, waited):
                on_event(event)
            return process.wait()
        except BaseException:
            process.interrupt()
            raise
    finally:
        for each in (reader, writer):
            if each >= 0:
                os.close(each)


def program(name: str) -> str:
    """Return the user's program of Ansible, or the one that was installed with sparkiac. Raises ProgramError."""
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else None)
    if found is None:
        raise ProgramError(f"{name} is not installed on this machine: pip install ansible-core")
    return found


def _environment(wanted: PlaybookRun, writer: int) -> dict[str, str]:
    """Return the environment. The configuration is the user's, as Ansible would find it, or else that of the tree.

    The connections that ssh shares are those of this apply: a connection of an earlier one may hang.
    """
    plugins = [str(directory("sparkiac/upstream/callback")), os.environ.get("ANSIBLE_CALLBACK_PLUGINS", "")]
    added = {"SPARKIAC_EVENTS": str(writer), "ANSIBLE_CALLBACK_PLUGINS": ":".join(filter(None, plugins))}
    added["PYTHONDONTWRITEBYTECODE"] = "1"  # an action of the playbooks is in the tree
    if not Path("ansible.cfg").exists():
        added["ANSIBLE_CONFIG"] = os.environ.get("ANSIBLE_CONFIG", str(wanted.tree / "ansible.cfg"))
    sockets = str(wanted.log.parent.absolute())
    if len(sockets) <= _LONGEST_SOCKETS:
        added["ANSIBLE_SSH_CONTROL_PATH_DIR"] = sockets
    return os.environ | added


def _events(reader: int, process: AttachedProgram, waited: Callable[[], None]) -> Iterator[Event]:
    """Return the events until Ansible ends. The end of the pipe is not enough: a child may keep it open."""
    rest = b""
    while True:
        if select.select([reader], [], [], _TICK_S)[0]:
            block = os.read(reader, _BLOCK)
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > _LONGEST_EVENT:
                raise ProgramError(f"Ansible sent an event of more than {_LONGEST_EVENT} bytes")
            yield from (json.loads(line) for line in lines)
        elif process.poll() is not None:
            return
        waited()


def is_encrypted(raw: bytes) -> bool:
    """Return whether a file is a vault."""
    return raw.startswith(_MARK)


def encrypted(raw: bytes, password: Path) -> bytes:
    """Return a vault with this content. Raises ProgramError."""
    return _vault("encrypt", raw, password)


def decrypted(raw: bytes, password: Path) -> bytes:
    """Return the content of a vault. Raises ProgramError."""
    return _vault("decrypt", raw, password)


def _vault(action: str, raw: bytes, password: Path) -> bytes:
    # Passwords that the user's configuration names could encrypt it too: only the given one may.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_VAULT")}
    environment |= {"ANSIBLE_CONFIG": str(directory("templates") / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    words = (program(_VAULT), action, "--vault-password-file", str(password.absolute()))
    done = programs.execute(words, raw, timeout_s=_VAULT_TIMEOUT_S, env=environment)
    if done.returncode != 0:
        reason = programs.last_line(done.stderr, f"exit code {done.returncode}")
        hint = f"the first line of {password} must be the password"
        raise ProgramError(f"{_VAULT} {action} with the password of {password} failed: {reason}; {hint}")
    return done.raw
