"""The fleet timer with directories of a test, one run at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.host.fleet import ask
from sparkiac.host.fleet import check as PROGRAM  # noqa: N812
from sparkiac.host.generation import Promise
from tests.host.expected import complete
from tests.host.receivers import CHAT, HOOK, PASSWORD, TOKEN, USER, Receiver

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PERIOD_S = 900
START = 1_795_000_000.0
KEY = "canary-of-the-key"
SECRETS = {"bot": TOKEN, "mail": PASSWORD, "hook": "", "key": KEY, "beat": ""}


class Ran(NamedTuple):
    """Result of one run."""

    code: int
    out: str
    err: str


class Timer:
    """A fleet timer. Each run is a period later than the one before."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """Make its directories; a second check of what failed follows at once."""
        self.folder, self.capsys = folder, capsys
        self.now = START
        self.config: dict[str, Any] = {
            "fleet": "lab",
            "host": "spark-02",
            "period_s": PERIOD_S,
            "endpoints": [],
            "links": [],
        }
        self.config |= {"channels": dict.fromkeys(("telegram", "email", "webhook")), "heartbeat": None}
        for name in ("state", "memory", "secrets"):
            (folder / name).mkdir()
        for name, value in SECRETS.items():
            self.secret(name, value)
        monkeypatch.setenv("STATE_DIRECTORY", str(folder / "state"))
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(folder / "memory"))
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder / "secrets"))
        monkeypatch.setattr(ask, "PAUSE_S", 0)
        monkeypatch.setattr(PROGRAM, "time", self)

    def time(self) -> float:
        """Return the time of this run."""
        return self.now

    def secret(self, name: str, value: str) -> None:
        """Write a secret."""
        (self.folder / "secrets" / name).write_text(value + "\n")

    def watch(self, name: str, url: str, **promised: Any) -> None:  # noqa: ANN401
        """Add an endpoint of the fleet."""
        wanted = {"unit": f"sparkiac-{name}", "kind": "chat", "url": url, "health": "/health", "models": ["chat"]}
        promise = complete(Promise, {**wanted, **promised})
        entry = {
            "name": f"{name} on spark-01",
            "host": "spark-01",
            "url": url,
            "remedy": f"sparkiac verify lab.yaml {name}",
            "turns": [],
        }
        self.config["endpoints"].append({**entry, "promise": promise})

    def watch_url(self, name: str, url: str) -> None:
        """Add an external endpoint."""
        entry = {"name": name, "host": None, "url": url, "remedy": f"curl -i {url}", "turns": []}
        self.config["endpoints"].append({**entry, "promise": None})

    def telegram(self, receiver: Receiver) -> None:
        """Send messages to Telegram."""
        self.config["channels"]["telegram"] = {"url": receiver.url, "chat_id": CHAT, "token": "bot"}

    def email(self, receiver: Receiver) -> None:
        """Send messages by e-mail."""
        found = {"host": "localhost", "port": receiver.port, "sender": "sparkiac@example.org"}
        found |= {"to": ["a@example.org", "b@example.org"], "user": USER, "password": "mail"}
        self.config["channels"]["email"] = found

    def webhook(self, receiver: Receiver) -> None:
        """Send messages to a webhook with a secret address."""
        self.secret("hook", f"{receiver.url}/{HOOK}")
        self.config["channels"]["webhook"] = {"url": None, "secret_url": "hook"}

    def run(self) -> Ran:
        """Run once."""
        path = self.folder / "fleet.json"
        path.write_text(json.dumps(self.config))
        self.now += PERIOD_S
        code = PROGRAM.main(["--config", str(path)])
        out, err = self.capsys.readouterr()
        return Ran(code, out, err)

    def everything(self) -> str:
        """Return all that the timer has written to its state."""
        paths = [path for name in ("state", "memory") for path in (self.folder / name).iterdir()]
        return "".join(path.read_text() for path in paths)
