"""An interrupt ends a command with 130 at any moment, without a traceback."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

STARTED: Final = "import sparkiac.__main__, sys; print(flush=True); sparkiac.__main__.main()"
"""When this program prints its first line, Python itself has started, and no traceback can be Python's own."""
NOT_BEGUN: Final = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nKeyboardInterrupt\n'
"""Errors if it is interrupted between its first line and `main`, which a busy machine may enter late."""
TRIES: Final = 12
LONGEST_S: Final = 0.6


COMMANDS: Final = (("lock", "solo.yaml"), ("generate", "lab.yaml"), ("check", "lab.yaml"), ("plan", "lab.yaml"))
LINES: Final = """\
import os, sys
import sparkiac.__main__
left, sys.argv = int(sys.argv[1]), ["sparkiac", "--version"]
sys.modules.pop("signal", None)
def trace(*_):
    global left
    left -= 1
    if left == 0:
        sys.settrace(None)
        os.kill(os.getpid(), 2)
    return trace
sys.settrace(trace)
sparkiac.__main__.main()
"""
"""This program interrupts itself in one of the first lines that the command line executes."""


@pytest.mark.parametrize("words", COMMANDS)
def test_an_interrupt_shows_no_traceback(tmp_path: Path, words: tuple[str, ...]) -> None:
    for name in ("solo", "lab"):
        shutil.copy(ROOT / f"inventories/{name}.yaml", tmp_path)
        shutil.copy(ROOT / f"inventories/{name}.lock.yaml", tmp_path)
    moments = random.Random(words[0])
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a model hub that never answers: `lock` waits for it
        env = os.environ | {"HF_ENDPOINT": f"https://127.0.0.1:{silent.getsockname()[1]}"}
        ended = [interrupted(words, tmp_path, env, moments.uniform(0.02, LONGEST_S)) for _ in range(TRIES)]
    ended = [each for each in ended if each[1] != NOT_BEGUN]
    assert [errors for _, errors in ended if "Traceback" in errors] == []
    assert {code for code, _ in ended} <= {130, 0}, "130 unless the command had ended"
    assert 130 in {code for code, _ in ended}


@pytest.mark.parametrize("line", [3, 10, 25, 40, 55, 61, *range(80, 86), 200, 1_000, 10_000])
def test_an_interrupt_in_one_of_the_first_lines_shows_no_traceback(line: int) -> None:
    done = subprocess.run([sys.executable, "-c", LINES, str(line)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "sparkiac: interrupted\n")


def interrupted(words: tuple[str, ...], folder: Path, env: dict[str, str], after_s: float) -> tuple[int, str]:
    """Interrupt a command and return its exit code and its errors."""
    argv, pipe = [sys.executable, "-c", STARTED, *words], subprocess.PIPE
    with subprocess.Popen(argv, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        errors = process.communicate()[1]
    return process.returncode, errors
