"""The programs that run on a host, imported or started by their paths, and a machine to run them on."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.preflight import host as preflight_host
from sparkiac.host.preflight import program as preflight_program
from sparkiac.host.probe import answers as probe_answers
from sparkiac.host.probe import basic as probe_basic
from sparkiac.host.probe import program as probe_program
from sparkiac.host.probe import session as probe_session
from sparkiac.host.probe import watch as probe_watch
from tests.host import programs, receivers
from tests.host.probed import Service, promise
from tests.host.traffic import Network
from tests.namespaces import namespaces
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from tests.host.fleet import Timer
    from tests.host.probed import Ask
    from tests.host.receivers import Receiver

ROOT = Path(__file__).parents[2]
SCRIPTS = programs.root() / programs.INSTALLED


@pytest.fixture(scope="session")
def scripts() -> Path:
    """Return the directory of the scripts."""
    return SCRIPTS


@pytest.fixture(scope="session")
def preflight() -> ModuleType:
    """Import the preflight script."""
    return preflight_program


@pytest.fixture(scope="session")
def parsers(preflight: ModuleType) -> ModuleType:
    """Return the part of preflight that reads what commands say."""
    assert preflight
    return preflight_host


@pytest.fixture(scope="session")
def probe() -> ModuleType:
    """Import the probe script."""
    return probe_program


@pytest.fixture(scope="session")
def answers(probe: ModuleType) -> ModuleType:
    """Return the part of the probe that judges answers."""
    assert probe
    return probe_answers


@pytest.fixture
def service() -> Iterator[Service]:
    """Run a server for the probe."""
    with serving(Service()) as server:
        yield server


@pytest.fixture
def timer(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Timer:
    """Return a fleet timer without endpoints."""
    from tests.host.fleet import Timer  # noqa: PLC0415 - it imports this file's programs

    return Timer(tmp_path, capsys, monkeypatch)


@pytest.fixture
def bot(timer: Timer) -> Iterator[Receiver]:
    """Yield Telegram's Bot API, to which the fleet timer sends its messages."""
    with receivers.http(receivers.bot_api) as found:
        timer.telegram(found)
        yield found
    assert found.faults == []


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write without waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """Yield a host between a client and two containers, with servers on the host and in the containers."""
    with namespaces("drain", "host", "client", "container", "neighbour", tools=("nft",)) as spaces:

        class Machine(units_host.LocalHost):  # type: ignore[name-defined, misc]
            """A host in a network namespace."""

            def run(self, *argv: str) -> Any:  # noqa: ANN401
                return super().run(*spaces.within("host", *argv))

        found = Network(spaces, Machine(tmp_path_factory.mktemp("drain")))
        try:
            found.build()
            yield found
        finally:
            found.end()


@pytest.fixture
def patience(probe: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the probe; it gives a busy machine time to answer, and waits shortly between two requests."""
    monkeypatch.setattr(probe, "WAIT_STEP_S", 0.05)
    for part in (probe_session, probe_basic):
        monkeypatch.setattr(part, "HEALTH_TIMEOUT_S", 60)
    monkeypatch.setattr(probe_basic, "QUEUE_STEP_S", 0.05)
    return probe


@pytest.fixture
def watch(
    patience: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ask:
    """Return a function that runs the health check of a container: exit status, and what it prints.

    A server that it ends is named in the file `ended`, and its log is the file `log`.
    """
    monkeypatch.setattr(probe_watch.os, "kill", lambda *_: (tmp_path / "ended").touch())
    monkeypatch.setattr(probe_watch, "SERVER_LOG", tmp_path / "log")

    def run(url: str | None, **promised: object) -> tuple[int, str]:
        (tmp_path / "promise.json").write_text(json.dumps(promise("sparkiac-chat", models=["chat"]) | promised))
        places = ["--state", str(tmp_path / "state"), "--token-file", str(tmp_path / "key")]
        code = patience.main(["watch", str(tmp_path / "promise.json"), *places, *(["--at", url] if url else [])])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


@pytest.fixture
def check(
    patience: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, tuple[str, str]]]:
    """Return a function that runs all steps, or with `options` others: step → state and evidence."""

    def run(url: str | None, *options: str, key: str | None = None, **promised: object) -> dict[str, tuple[str, str]]:
        wanted = promise("sparkiac-chat", models=["chat"], url=url) | promised
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"promise": wanted, "key": key})))
        code = patience.main(["check", "--format", "json", "--queue", "0", *(options or ("--all",))])
        said = capsys.readouterr()
        steps = json.loads(said.out)["steps"]
        assert code == any(step["state"] == "failed" for step in steps)
        assert said.err == ""
        return {step["name"]: (step["state"], step["evidence"]) for step in steps}

    return run


@pytest.fixture
def machine(preflight: ModuleType, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that makes a host of files under a directory and of what commands answer."""

    def make(commands: dict[str, str | Exception] | None = None, **files: str) -> Any:  # noqa: ANN401
        class Machine(preflight.LocalHost):
            """A host whose commands are a table: the beginning of a command line → its output, or its error."""

            root = tmp_path
            root_uid = os.getuid()
            machine = "aarch64"

            def __init__(self) -> None:
                self.ran: list[str] = []

            def run(self, *argv: str) -> str:
                line = " ".join(argv)
                self.ran.append(line)
                for start, answer in (commands or {}).items():
                    if line.startswith(start):
                        if isinstance(answer, Exception):
                            raise answer
                        return answer
                raise FileNotFoundError(2, "No such file or directory", argv[0])

        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Machine()

    return make
