"""The main process of a unit, with stand-ins for docker and systemd-notify."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STUBS = Path(__file__).parent / "stubs"
PATIENCE_S = 600


def wait_until(true: Callable[[], bool], *, what: str) -> None:
    """Wait for something that must happen soon."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.01)


def listen_to_interrupts() -> None:
    """Undo what a shell does to jobs in its background, where a script could not trap the signal either."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class Supervised:
    """A supervisor that runs, and the state of its stand-ins."""

    state: Path
    process: subprocess.Popen[str]

    def read(self, name: str) -> list[str]:
        """Return the lines of a file of the stand-ins."""
        path = self.state / name
        return path.read_text().splitlines() if path.exists() else []

    def write(self, name: str, text: str) -> None:
        """Replace a file of the stand-ins in one step: they read it all the time."""
        (self.state / "new").write_text(text)
        (self.state / "new").replace(self.state / name)

    def wait_for(self, line: str) -> None:
        """Wait until systemd was told something."""
        wait_until(lambda: any(line in each for each in self.read("notified")), what=line)

    def wait_for_up(self) -> None:
        """Wait until compose runs."""
        wait_until(lambda: self.read("containers") == ["new"], what="compose up")

    def end(self) -> tuple[int, str]:
        """Wait for the end: exit status and stderr."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


@pytest.fixture
def supervise(scripts: Path, tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    """Yield a function that starts the supervisor."""
    started: list[Supervised] = []

    def start(*arguments: str, **state: str) -> Supervised:
        for name, text in state.items():
            (tmp_path / name).write_text(text)
        env = os.environ | {
            "PATH": f"{STUBS}:{os.environ['PATH']}",
            "STUB": str(tmp_path),
            "NOTIFY_SOCKET": "/nowhere",
            "SUPERVISE_PERIOD_S": "0.02",
            "SUPERVISE_ANSWER_S": "600",
            "RUNTIME_DIRECTORY": str(tmp_path),
        }
        argv = [scripts / "supervise", *(arguments or ("qwen36",))]
        process = subprocess.Popen(
            argv,
            env=env,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=listen_to_interrupts,  # noqa: PLW1509  no threads
        )
        started.append(Supervised(tmp_path, process))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGKILL)
        each.process.communicate()


def test_ready_when_healthy_and_once(supervise: Callable[..., Supervised]) -> None:
    unit = supervise(health="starting\n")
    unit.wait_for("--status=starting")
    assert "--ready" not in unit.read("notified")
    assert not any("WATCHDOG" in line for line in unit.read("notified"))
    unit.write("health", "healthy\n")
    unit.wait_for("--status=healthy WATCHDOG=1")
    unit.write("health", "unhealthy\n")
    unit.wait_for("--status=unhealthy")
    fed = len(unit.read("notified"))
    time.sleep(0.3)
    assert len(unit.read("notified")) == fed, "the watchdog is fed only while the container is healthy"
    unit.write("health", "healthy\n")
    wait_until(lambda: len(unit.read("notified")) > fed, what="fed again")
    assert unit.read("notified").count("--ready") == 1


def test_a_server_whose_group_misses_a_node_is_not_ready_and_keeps_running(
    supervise: Callable[..., Supervised],
) -> None:
    unit = supervise(health="healthy\n", silent="no word from spark-02")
    unit.wait_for("--status=unhealthy no word from spark-02 WATCHDOG=1")
    assert "--ready" not in unit.read("notified")
    (unit.state / "silent").unlink()
    unit.wait_for("--status=healthy WATCHDOG=1")
    assert unit.read("notified").count("--ready") == 1
    unit.write("silent", "no word from spark-02")
    fed = len(unit.read("notified"))
    wait_until(lambda: any("unhealthy" in line for line in unit.read("notified")[fed:]), what="not ready again")
    assert unit.process.poll() is None


def test_the_command_line_of_compose(supervise: Callable[..., Supervised]) -> None:
    unit = supervise()
    unit.wait_for_up()
    [line] = [line for line in unit.read("log") if line.startswith("compose")]
    assert line.split() == [
        *["compose", "--env-file", "/dev/null", "--project-name", "sparkiac-qwen36"],
        *["--file", "/etc/sparkiac/qwen36/compose.yaml", "up", "--no-color", "--no-log-prefix", "--no-build"],
        *["--pull", "never", "--force-recreate", "--remove-orphans"],
        *["--abort-on-container-exit", "--exit-code-from", "server"],
    ]


def test_the_container_is_told_that_its_version_has_passed(supervise: Callable[..., Supervised]) -> None:
    unit = supervise(**{"passed.yaml": "{}"})
    unit.wait_for_up()
    [line] = [line for line in unit.read("log") if line.startswith("compose")]
    assert f"--file /etc/sparkiac/qwen36/compose.yaml --file {unit.state}/passed.yaml up " in line


@pytest.mark.parametrize(("container", "supervisor"), [("7", 7), ("137", 137), ("0", 1)])
def test_a_container_that_ends_is_a_failure(
    supervise: Callable[..., Supervised], container: str, supervisor: int
) -> None:
    unit = supervise(health="healthy\n")
    unit.wait_for("--ready")
    unit.write("exit", container)
    assert unit.end()[0] == supervisor
    assert unit.read("containers") == []


def test_what_watches_the_container_ends_with_the_supervisor(supervise: Callable[..., Supervised]) -> None:
    """The signal for its end can be lost; here nobody can send it."""
    unit = supervise(health="healthy\n")
    unit.wait_for("--ready")
    unit.process.kill()
    unit.process.wait()
    unit.write("exit", "0")
    unit.end()


@pytest.mark.parametrize("began", ["2026-10-01T10:00:00.123456789Z\n", "0001-01-01T00:00:00Z\n"])
@pytest.mark.parametrize("crashes", [True, False])
def test_it_leaves_a_file_if_the_container_has_started(
    supervise: Callable[..., Supervised], began: str, *, crashes: bool
) -> None:
    """switch/starts.py counts these starts alone: a container that could not be started has used no memory."""
    unit = supervise(health="starting\n", began=began, **({"exit": "1"} if crashes else {}))
    if not crashes:
        unit.wait_for_up()
        unit.process.terminate()
    unit.end()
    assert (unit.state / "ran").exists() == began.startswith("2026")


@pytest.mark.parametrize("health", ["starting\n", "healthy\n"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_is_no_failure(supervise: Callable[..., Supervised], health: str, number: signal.Signals) -> None:
    unit = supervise(health=health)
    unit.wait_for_up()
    unit.wait_for(f"--status={health.strip()}")
    unit.process.send_signal(number)
    assert unit.end()[0] == 0
    assert "compose got TERM" in unit.read("log")
    assert "--stopping --status=stopping" in unit.read("notified")
    assert ("--ready" in unit.read("notified")) == (health == "healthy\n")
    assert unit.read("containers") == []


def test_a_stop_at_any_moment_of_the_start(supervise: Callable[..., Supervised], tmp_path: Path) -> None:
    for delay_ms in range(0, 60, 4):
        shutil.rmtree(tmp_path, ignore_errors=True)
        tmp_path.mkdir()
        unit = supervise(health="starting\n")
        time.sleep(delay_ms / 1000)
        unit.process.terminate()
        code, _ = unit.end()
        assert code in {0, -signal.SIGTERM}, f"after {delay_ms} ms"
        assert unit.read("containers") == [], f"after {delay_ms} ms"


def test_what_a_killed_supervisor_left_is_removed_before_the_start(supervise: Callable[..., Supervised]) -> None:
    unit = supervise(containers="old\nolder\n", health="healthy\n")
    unit.wait_for_up()
    log = unit.read("log")
    assert log[1] == "rm --force old older"
    assert not any(line.startswith(("compose", "inspect")) for line in log[:3])


def test_sweep_removes_what_was_left_and_starts_nothing(supervise: Callable[..., Supervised]) -> None:
    run = supervise("--sweep", "chat", containers="old\n")
    assert run.end() == (0, "")
    assert run.read("containers") == []
    assert run.read("notified") == []


def test_without_docker_nothing_is_started(supervise: Callable[..., Supervised]) -> None:
    unit = supervise(down="")
    code, said = unit.end()
    assert code == 2
    assert "Cannot connect to the Docker daemon" in said
    assert not any(line.startswith("compose") for line in unit.read("log"))


@pytest.mark.parametrize("arguments", [["", "x"], ["../x"], ["-rf"], ["Qwen"], ["a b"], ["9x"], ["a", "b"]])
def test_wrong_usage(supervise: Callable[..., Supervised], arguments: list[str]) -> None:
    unit = supervise(*arguments)
    assert unit.end()[0] == 2
    assert unit.read("log") == []
