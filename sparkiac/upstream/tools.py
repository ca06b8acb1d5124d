"""Run a program of the user's machine in an empty directory, and return its output."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sparkiac.upstream import ssh


class ToolError(Exception):
    """A program is missing or failed; the text gives the reason."""


def output(words: Sequence[str], result: str | None, *, key: str | None, timeout_s: float) -> str:
    """Return the text of the file `result`, or without one what the program printed. Raises ToolError.

    The API key is passed in the environment, as OPENAI_API_KEY. The result counts even if the program fails after it
    was written.
    """
    environment = os.environ | ({"OPENAI_API_KEY": key} if key else {}) | {"NO_COLOR": "1", "COLUMNS": "200"}
    with tempfile.TemporaryDirectory(prefix="sparkiac-bench-") as folder:
        try:
            done = subprocess.run(  # noqa: S603  no shell; the words are built from checked options
                tuple(words), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=max(1.0, timeout_s), check=False,
            )  # fmt: skip
        except FileNotFoundError:
            message = f"{words[0]} is not installed on this machine, or not in PATH"
            raise ToolError(message) from None
        except subprocess.TimeoutExpired:
            message = f"{words[0]} did not end within {timeout_s:.0f} s"
            raise ToolError(message) from None
        found = Path(folder, result) if result else None
        if found is not None and found.is_file():
            return found.read_text(encoding="utf-8", errors="replace")
    if done.returncode or found is not None:
        last_line = ssh.last_line(done.stderr or done.stdout, "no message")
        message = f"{words[0]} failed with exit code {done.returncode}: {last_line}"
        raise ToolError(message)
    return done.stdout
