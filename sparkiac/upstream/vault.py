"""Encrypt and decrypt with the program ansible-vault, over standard input and output: plain text is never in a file."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from sparkiac.report.assets import directory
from sparkiac.upstream import ssh
from sparkiac.upstream.playbook import MissingProgramError, program

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAM: Final = "ansible-vault"
_MARK: Final = b"$ANSIBLE_VAULT;"


class VaultError(Exception):
    """ansible-vault failed; the text is its error."""


def is_encrypted(raw: bytes) -> bool:
    """Return whether a file is a vault."""
    return raw.startswith(_MARK)


def encrypted(raw: bytes, password: Path) -> bytes:
    """Return a vault with this content. Raises VaultError."""
    return _run("encrypt", raw, password)


def decrypted(raw: bytes, password: Path) -> bytes:
    """Return the content of a vault. Raises VaultError."""
    return _run("decrypt", raw, password)


def _run(action: str, raw: bytes, password: Path) -> bytes:
    # Passwords that the user's configuration names could encrypt it too: only the given one may.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_VAULT")}
    environment |= {"ANSIBLE_CONFIG": str(directory("templates") / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    try:
        done = subprocess.run(  # noqa: S603  no shell; the file is the user's own
            (program(_PROGRAM), action, "--vault-password-file", str(password.absolute())),
            input=raw,
            env=environment,
            capture_output=True,
            check=False,
        )
    except MissingProgramError as error:
        raise VaultError(str(error)) from None
    if done.returncode != 0:
        reason = ssh.last_line(done.stderr.decode(errors="replace"), f"exit code {done.returncode}")
        hint = f"the first line of {password} must be the password"
        message = f"{_PROGRAM} {action} with the password of {password} failed: {reason}; {hint}"
        raise VaultError(message)
    return done.stdout
