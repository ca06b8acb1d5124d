"""Whoever ends a command that waits for a host: no process of it is left, and it says so. `ssh` is a stand-in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING, Final

import pytest

from tests.hostile import measured
from tests.hostile.test_hosts import INIT, LOGS, STATUS, VERIFY, lab

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["lab"]
DEADLINE_S: Final = 600


@pytest.mark.parametrize(
    ("words", "sent", "code"),
    [
        (STATUS, signal.SIGINT, 130),
        (STATUS, signal.SIGTERM, -signal.SIGTERM),
        pytest.param(INIT, signal.SIGINT, 130, marks=pytest.mark.deep),
        pytest.param(VERIFY, signal.SIGHUP, -signal.SIGHUP, marks=pytest.mark.deep),
        pytest.param((*LOGS, "-f"), signal.SIGINT, 130, marks=pytest.mark.deep),
        pytest.param((*LOGS, "-f"), signal.SIGHUP, -signal.SIGHUP, marks=pytest.mark.deep),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_nothing_is_left_and_a_sentence_is_printed(
    words: tuple[str, ...], sent: signal.Signals, code: int, lab: Mapping[str, str], tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex
    env = {**os.environ, **lab, "HOSTILE_SSH": "is silent and deaf", measured.MARK: mark}
    argv, pipe = [sys.executable, "-m", "sparkiac", *words], subprocess.PIPE
    with subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        wait_for(mark, "is deaf")
        process.send_signal(sent)
        errors = process.communicate()[1]
    assert (process.returncode, errors.splitlines()[-1:]) == (code, ["sparkiac: interrupted"])
    assert measured.left(mark) == []


def wait_for(mark: str, word: str) -> None:
    """Wait until a process with a mark has a word in its command line."""
    until = time.monotonic() + DEADLINE_S
    while not any(word in each for each in measured.running(mark)):
        assert time.monotonic() < until
        time.sleep(0.1)
