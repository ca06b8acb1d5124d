"""Read files of an earlier commit from the user's Git repository. Nothing in the repository changes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

from sparkiac.upstream import ssh

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_TIMEOUT_S: Final = 60
_SYMLINK: Final = b"120000"
_FILE: Final = b"blob"
_FATAL: Final = "fatal: "


class GitError(Exception):
    """Git is missing or failed; the text gives the reason."""


def files(folder: Path, revision: str, paths: Iterable[str]) -> dict[str, bytes]:
    """Return path → content of the files that `revision` has at `paths`, which are relative to `folder`.

    A directory stands for all files below it. Content is as committed: no filter and no
    conversion of line ends. Raises GitError.
    """
    if not revision or revision.startswith("-"):
        message = f"{revision or 'an empty text'} is not a revision; name a commit, a branch or a tag, such as main"
        raise GitError(message)
    commit = _output(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", unknown=revision)
    name = commit.decode().strip()
    listed = _output(folder, "ls-tree", "-r", "-z", name, "--", *paths).split(b"\0")
    found = {}
    for entry in filter(None, listed):
        about, _, raw = entry.partition(b"\t")
        mode, kind, blob = about.split()
        path = raw.decode(errors="surrogateescape")
        if mode == _SYMLINK:
            message = f"{path} is a symbolic link in {revision}; name the file that it points to"
            raise GitError(message)
        if kind == _FILE:
            found[path] = _output(folder, "cat-file", "blob", blob.decode())
    return found


def _output(folder: Path, *words: str, unknown: str = "") -> bytes:
    """Return the output of a git command in a folder; `unknown` is the revision that a silent failure is about."""
    try:
        done = subprocess.run(  # noqa: S603  no shell; the revision does not start with a dash
            ("git", *words),  # noqa: S607  the user's git
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        message = "git is not installed on this machine, or not in PATH"
        raise GitError(message) from None
    except subprocess.TimeoutExpired:
        message = f"git {words[0]} did not end within {_TIMEOUT_S} s"
        raise GitError(message) from None
    if done.returncode:
        default = f"{unknown} is not a commit, branch or tag of this repository" if unknown else "no message"
        raise GitError(_reason(done.stderr.decode(errors="replace")) or default)
    return done.stdout


def _reason(errors: str) -> str:
    """Return the line of git's output that gives the reason; advice can follow it."""
    fatal = [line.removeprefix(_FATAL) for line in errors.splitlines() if line.startswith(_FATAL)]
    return fatal[0] if fatal else ssh.last_line(errors, "")
