"""The exit code does not depend on whether somebody reads the output to its end."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sparkiac import pipeline
from tests.commands.test_exits import REFUSED
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome

CASES = [
    (["check", "lab.yaml"], 0),
    (["plan", "lab.yaml"], 0),
    (["plan", "lab.yaml", "--format", "json"], 0),
    (["schema"], 0),
    (["recipes", "list"], 0),
    (["--help"], 0),
    (["check", "refused.yaml"], 1),
    (["check", "refused.yaml", "--format", "json"], 1),
    (["check", "refused.yaml", "--format", "github"], 1),
    (["plan", "refused.yaml"], 1),
    (["check", "truncated.yaml"], 2),
    (["generate", "truncated.yaml"], 2),
    (["generate", "--check", "truncated.yaml"], 2),
    (["chekc", "lab.yaml"], 2),
    (["generate", "--check", "lab.yaml"], 3),
    (["generate", "--diff", "lab.yaml"], 3),
    (["lock", "--check", "lab.yaml"], 3),
    (["generate", "unlocked.yaml"], 4),
    (["generate", "unlocked.yaml", "--check"], 4),
    (["plan", "/proc/self/mem"], 6),
]


@pytest.fixture
def inventories(lab: Path) -> Path:
    """Run the test in a folder with a valid inventory and one for each kind of error."""
    (lab / "refused.yaml").write_text(REFUSED)
    (lab / "unlocked.yaml").write_text(deployment())
    (lab / "truncated.yaml").write_text(deployment())
    (lab / "truncated.lock.yaml").write_text(LOCK[: len(LOCK) // 2])
    return lab


@pytest.fixture
def unread() -> Iterator[int]:
    """Yield the writing end of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.usefixtures("inventories")
@pytest.mark.parametrize(("arguments", "code"), CASES)
def test_the_exit_code_stays_when_the_reader_of_a_pipe_has_gone(unread: int, arguments: list[str], code: int) -> None:
    command = [sys.executable, "-m", "sparkiac", *arguments]
    assert subprocess.run(command, stdout=unread, stderr=unread, check=False).returncode == code


@pytest.mark.usefixtures("inventories")
def test_the_other_stream_goes_on(unread: int) -> None:
    command = [sys.executable, "-m", "sparkiac", "plan", "refused.yaml"]
    out = subprocess.run(command, stdout=unread, stderr=subprocess.PIPE, text=True, check=False)
    assert (out.returncode, out.stderr.endswith("1 error\n"), "Traceback" in out.stderr) == (1, True, False)
    err = subprocess.run(command, stdout=subprocess.PIPE, stderr=unread, text=True, check=False)
    assert (err.returncode, "spark-01" in err.stdout) == (1, True)


@pytest.mark.usefixtures("lab")
def test_exit_6_for_a_pipe_that_is_not_an_output(cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(pipeline, "check", broken)
    outcome = cli("check", "lab.yaml")
    assert (outcome.code, outcome.err) == (6, "sparkiac: Broken pipe\n")


def test_everything_is_written_although_nobody_reads(lab: Path, unread: int) -> None:
    command = [sys.executable, "-m", "sparkiac", "generate", "lab.yaml"]
    assert subprocess.run(command, stdout=unread, stderr=unread, check=False).returncode == 0
    assert (lab / "generated/lab/.sparkiac-manifest.json").is_file()


@pytest.mark.usefixtures("inventories")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("generate truncated.yaml 2>&1 | head -n 1", 2),
        ("generate unlocked.yaml 2>&1 | head -n 1", 4),
        ("check refused.yaml 2>&1 | head -n 1", 1),
        ("schema | head -n 1", 0),
        ("generate unlocked.yaml >&- 2>&-", 4),
        ("check refused.yaml 2>&-", 1),
        ("check lab.yaml >&- 2>&-", 0),
        ("--help >&-", 0),
        ("check refused.yaml 2>/dev/full", 6),
    ],
)
def test_a_shell_sees_the_same_code(line: str, code: int) -> None:
    script = f"set -o pipefail; {sys.executable} -m sparkiac {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stdout + done.stderr) == (code, False)


@pytest.mark.usefixtures("inventories")
def test_the_pre_commit_hook_keeps_its_code(unread: int) -> None:
    command = [sys.executable, "-m", "sparkiac.hook", "refused.yaml", "lab.yaml"]
    assert subprocess.run(command, stdout=unread, stderr=unread, check=False).returncode == 1
