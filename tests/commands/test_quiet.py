"""What the offline commands leave alone: the network, other programs, and, but for `generate`, the disk."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WATCH = """\
import json, os, sys
events = []
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def hook(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "urllib.")):
        events.append(["reach", event])
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & writing:
        events.append(["write", str(arguments[0])])
    elif event in {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.link", "os.symlink", "os.utime"}:
        events.append(["write", event])
sys.addaudithook(hook)
from sparkiac.console import run
code = run(sys.argv[1:])
print("\\n" + json.dumps([int(code), events]), flush=True)
"""


def watched(*arguments: str, cwd: Path) -> tuple[int, list[list[str]]]:
    """Run a command under an audit hook; give its exit code and what it reached for."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCH, *arguments], cwd=cwd, capture_output=True, text=True, check=True
    )
    code, events = json.loads(done.stdout.splitlines()[-1])
    return code, events


@pytest.mark.parametrize(
    "arguments",
    [
        *(["check", "lab.yaml"], ["plan", "lab.yaml"], ["generate", "lab.yaml", "--diff"], ["schema"]),
        ["diff", "lab.yaml", "lab.yaml"],
        *(["recipes", "list"], ["recipes", "show", "base/single-spark"], ["images", "list"]),
        *(["rules", "list"], ["rules", "explain", "ENT001"], ["check", "lab.yaml", "--profile", "strict"]),
        *(["check", "lab.yaml", "--format", "sarif"], ["check", "lab.yaml", "--format", "github"]),
    ],
)
def test_a_look_opens_no_socket_starts_nothing_and_writes_nothing(lab: Path, arguments: list[str]) -> None:
    code, events = watched(*arguments, cwd=lab)
    assert code == (3 if "--diff" in arguments else 0)
    assert events == []


def test_generate_writes_below_its_target_and_reaches_for_nothing_else(lab: Path) -> None:
    code, events = watched("generate", "lab.yaml", cwd=lab)
    assert code == 0
    assert [event for event in events if event[0] == "reach"] == []
    # A number is a descriptor: that it was opened is an event of its own.
    written = {path for kind, path in events if kind == "write" and not path.isdecimal()}
    assert {path for path in written if not path.startswith(("os.", "generated/"))} == set()


def test_the_hook_would_see_it(lab: Path) -> None:
    """The watch itself is watched: a run that does write is caught writing."""
    _, events = watched("generate", "lab.yaml", cwd=lab)
    assert any(kind == "write" for kind, _ in events)


def on_terminal(*arguments: str, cwd: Path, env: Mapping[str, str]) -> bytes:
    """Run a command whose standard error is a terminal; give what it wrote there."""
    ours, theirs = pty.openpty()
    try:
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", **env}
        subprocess.run(
            [sys.executable, "-m", "sparkiac", *arguments],
            cwd=cwd,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            check=False,
        )
    finally:
        os.close(theirs)
    said = b""
    try:
        while block := os.read(ours, 4096):
            said += block
    except OSError:  # Linux ends a terminal's stream with an error
        pass
    finally:
        os.close(ours)
    return said


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
)
def test_colour_only_on_a_terminal_that_supports_it(folder: Path, env: dict[str, str], *, coloured: bool) -> None:
    (folder / "lab.yaml").write_text(deployment())
    said = on_terminal("check", "lab.yaml", cwd=folder, env=env)
    assert b"IMG003" in said
    assert (b"\x1b[" in said) == coloured


def test_a_file_that_is_read_only_is_read(folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment())
    (folder / "lab.lock.yaml").write_text(LOCK)
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert watched("check", "lab.yaml", cwd=folder) == (0, [])
    finally:
        folder.chmod(0o755)
