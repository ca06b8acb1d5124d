"""Commands run on the machine, and the bed's one kind of error."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

# Debian keeps administration commands out of an ordinary PATH.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class BedError(RuntimeError):
    """The bed could not do what was asked; the message says what and why."""


def which(program: str) -> str | None:
    """Return where `program` is, in the administrator's PATH."""
    return shutil.which(program, path=PATH)


def run(  # noqa: PLR0913 - what subprocess.run takes, less what no caller wants
    argv: Sequence[str | Path],
    *,
    check: bool = True,
    input: str | None = None,  # noqa: A002 - the name that subprocess.run has for it
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = 900,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return it with its output; raise BedError when it fails."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, check=False, input=input, cwd=cwd, env=env, timeout=timeout,
            capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL if input is None else None,
        )  # fmt: skip
    except FileNotFoundError as error:
        message = f"{words[0]} is not installed: {error}"
        raise BedError(message) from error
    if check and done.returncode:
        output = (done.stdout + done.stderr).strip()[-4000:]
        message = f"exit {done.returncode} of {' '.join(words)}\n{output}"
        raise BedError(message)
    return done


def wait_for(condition: Callable[[], bool], what: str, *, timeout: float, every: float = 0.1) -> None:
    """Return once `condition` holds; raise BedError when it does not within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            message = f"waited {timeout:.0f} s in vain for {what}"
            raise BedError(message)
        time.sleep(every)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`: of two beds starting at once, one builds and one waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
