"""Read the journal of a unit and the errors of the kernel from a host, with the user's ssh."""

from __future__ import annotations

from typing import Final

from sparkiac.upstream import ssh

_TIMEOUT_S: Final = 60
_MARK: Final = "== sparkiac: kernel log ==\n"
_SCRIPT: Final = rf"""
read_journal() {{
    sudo -n journalctl --no-pager --quiet --utc --output=short-iso-precise --boot --lines=20000 "$@" 2>/dev/null ||
        journalctl --no-pager --quiet --utc --output=short-iso-precise --boot --lines=20000 "$@"
}}
read_journal --unit="$1" | tail --bytes=8388608
echo '{_MARK.strip()}'
read_journal --dmesg | grep --extended-regexp 'NVRM|Out of memory|oom-kill' | tail --lines=500 | cut --bytes=-2000
exit 0
"""
"""Prints at most 9 MB of the current boot."""


class JournalError(Exception):
    """The journal could not be read; the text gives the reason."""


def read(target: str, unit: str, *, port: int | None) -> tuple[str, str]:
    """Return the journal of a unit, and the lines of the kernel about GPU and memory, since the last boot.

    `target` is [USER@]ADDRESS. Raises `JournalError`.
    """
    try:
        done = ssh.run(target, ("sh", "-s", "--", f"{unit}.service"), program=_SCRIPT, timeout_s=_TIMEOUT_S, port=port)
    except FileNotFoundError:
        message = "ssh is not installed on this machine"
        raise JournalError(message) from None
    except ssh.TimedOut:
        message = f"no response within {_TIMEOUT_S} s"
        raise JournalError(message) from None
    if done.returncode:
        raise JournalError(ssh.last_line(done.stderr, f"ssh ended with {done.returncode}"))
    journal, _, kernel = done.stdout.partition(_MARK)
    if not journal.strip():
        reason = ssh.last_line(done.stderr, f"{unit} has not started since the last boot")
        message = f"the journal has no lines: {reason}"
        raise JournalError(message)
    return journal, kernel
