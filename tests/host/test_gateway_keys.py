"""The keys of the gateway on its host: the files for HAProxy, and what a changed key does."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from sparkiac.host.local import LocalHost
from sparkiac.host.preflight import gateway_keys
from sparkiac.host.switch import actions, program, record

if TYPE_CHECKING:
    from pathlib import Path

NAME = "sparkiac-gateway"


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    """Return a host with the keys of a gateway."""
    for path, text in {
        "etc/sparkiac/gateway/config/keys.json": json.dumps({"clients": {"a": "alice"}, "servers": ["s"], "tls": None}),
        "etc/sparkiac/secrets/a": "key of alice\n",
        "etc/sparkiac/secrets/s": "key of a server\n",
        "run/sparkiac-gateway/.made": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return LocalHost(tmp_path)


def digest(key: str) -> str:
    return sha256(key.encode()).hexdigest().upper()


def test_a_former_key_is_valid_as_long_as_its_file_exists(host: LocalHost) -> None:
    host.path("etc/sparkiac/secrets/a.previous").write_text("former\n")
    assert gateway_keys.main(["gateway"], host) == 0
    written = host.path("run/sparkiac-gateway/keys")
    assert (written / "clients.map").read_text() == f"{digest('key of alice')} alice\n{digest('former')} alice\n"
    assert (written / "servers.map").read_text() == "s key of a server\n"
    host.path("etc/sparkiac/secrets/a.previous").unlink()
    assert gateway_keys.main(["gateway"], host) == 0
    assert (written / "clients.map").read_text() == f"{digest('key of alice')} alice\n"


def test_the_key_that_servers_had_before_a_reload_is_kept_until_the_next(host: LocalHost) -> None:
    former = []
    for key in ("key of a server", "the new one", "the new one"):
        host.path("etc/sparkiac/secrets/s").write_text(f"{key}\n")
        assert gateway_keys.main(["gateway"], host) == 0
        former.append(host.path("run/sparkiac-gateway/keys/former.map").read_text())
    assert former == ["", "s key of a server\n", ""]


def test_a_reload_is_recorded_so_that_no_apply_repeats_it(host: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = {"name": NAME, "files": [], "secrets": ["a"], "memory_bytes": 1, "listen": None}
    state = dict.fromkeys(("DropInPaths", "NeedDaemonReload"), "")
    monkeypatch.setattr(program.store, "installed", lambda _: {"units": [unit]})
    monkeypatch.setattr(record.local, "states", lambda *_: {NAME: state})
    monkeypatch.setenv("INVOCATION_ID", "i")
    program.COMMANDS["reloaded"](host, program.parse(["reloaded", NAME]))
    found = record.recorded(host, NAME, "i")
    assert found is not None
    assert record.changed(host, found["content"], record.content(host, unit, state, {})) == []
    host.path("etc/sparkiac/secrets/a").write_text("other\n")
    assert record.changed(host, found["content"], record.content(host, unit, state, {})) == ["etc/sparkiac/secrets/a"]


@pytest.mark.parametrize("key", ["", "two\nlines"])
def test_a_key_that_is_no_header_is_refused(host: LocalHost, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    host.path("etc/sparkiac/secrets/a").write_text(key)
    assert gateway_keys.main(["gateway"], host) == 1
    assert capsys.readouterr().err == "gateway_keys: the secret a must be one line of printable text\n"


@pytest.mark.parametrize(
    ("changed", "files", "action"),
    [
        ("etc/sparkiac/secrets/a", ["etc/sparkiac/gateway/config/keys.json"], "reload"),
        ("etc/sparkiac/gateway/config/keys.json", ["etc/sparkiac/gateway/config/keys.json"], "restart"),
        ("etc/sparkiac/secrets/a", [], "restart"),
    ],
)
def test_a_changed_key_reloads_and_anything_else_restarts(
    host: LocalHost, changed: str, files: list[str], action: str
) -> None:
    unit = {"name": NAME, "files": files, "secrets": ["a", "s"], "memory_bytes": 1, "listen": "192.168.1.12:8088"}
    state = {
        "ActiveState": "active",
        "SubState": "running",
        "InvocationID": "i",
        "DropInPaths": "",
        "UnitFileState": "enabled",
    }
    content = record.content(host, unit, state, {})
    kept = {"invocation": "i", "content": content, "memory_bytes": 1, "listen": unit["listen"]}
    path = host.path(f"{record.STARTED}/{NAME}.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(kept))
    assert actions.decide(host, unit, state, {}) == ("", "")
    host.path(changed).write_text("other\n")
    assert actions.decide(host, unit, state, {})[0] == action
