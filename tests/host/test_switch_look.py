"""What differs between a host and a generation, with stand-ins for systemctl, docker and id."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.generation import GenerationPlan
from sparkiac.host.switch import lease as switch_lease
from sparkiac.host.switch import look as switch_look
from tests.host.conftest import SCRIPTS
from tests.host.expected import complete
from tests.host.probed import Service, promise
from tests.serving import serving

if TYPE_CHECKING:
    from types import ModuleType

STUBS = Path(__file__).parent / "stubs"
COMPOSE = "etc/sparkiac/a/compose.yaml"
IMAGE, NETWORK = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64, "sparkiac"
SALT = "4f"
CLEAN: dict[str, Any] = {
    "differs": False,
    "files": [],
    "sysctls": [],
    "units": [],
    "missing": [],
    "secrets": [],
    "plain": [],
    "unread": [],
    "effects": [],
    "lines": [],
    "commit": None,
    "state": {"current": "one", "previous": "zero", "committed": "one", "turn": None, "pending": None},
    "lease": None,
    "faults": [],
}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Host:
    """A host that serves generation `one`, and the generation as the controller describes it."""

    stub: Path
    module: ModuleType
    data: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    """Effects and lines of the last look."""

    @property
    def machine(self) -> Any:  # noqa: ANN401
        """The host."""
        return units_host.LocalHost(self.stub / "root")

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        """Write a file of the host."""
        path = self.stub / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def systemd(self, **properties: str) -> None:
        """Set the state of unit `a`."""
        running = {"ActiveState": "active", "SubState": "running", "UnitFileState": "enabled", "InvocationID": "1"}
        (self.stub / "units.json").write_text(json.dumps({"a": {**running, **properties}}))

    def look(self, **changes: object) -> dict[str, Any]:
        """Compare the host with the generation; return what is not as on a host with nothing to do, without effects."""
        (self.stub / "log").write_text("")
        found = self.module.look(self.machine, {**self.data, **changes})
        assert list(found) == list(CLEAN)
        for key in ("effects", "lines"):
            self.told[key] = found.pop(key)
        return {key: value for key, value in found.items() if value != CLEAN[key]}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Return a host that does not differ from its generation."""
    monkeypatch.setenv("STUB", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PATH", f"{STUBS}:{os.environ['PATH']}")
    module = switch_look
    unit = {"name": "a", "files": [COMPOSE], "secrets": ["key"], "listen": None}
    plan = complete(GenerationPlan, {"units": [unit], "sysctls": [{"key": "vm.swappiness", "value": "1"}]})
    host = Host(tmp_path, module)
    host.data = {
        "generation": "one",
        "files": [{"path": COMPOSE, "mode": "0644", "sha256": sha256("compose")}],
        "texts": {COMPOSE: "compose"},
        "plan": plan,
        "secrets": {"salt": SALT, "hashes": {"key": sha256(SALT + "secret")}, "read": ["key"]},
        "images": [IMAGE, "sha256:12"],
        "networks": [NETWORK],
        "directories": [{"path": "/var/cache/sparkiac/a", "mode": "0700"}],
        "extra_files": ["12/x.py"],
        "user": "sparkiac",
        "controller": {"owner": "anna@laptop, pid 12 [0123/12-7]", "running": ["12-7"], "take_over": False},
    }
    content = {COMPOSE: sha256("compose"), "etc/sparkiac/secrets/key": sha256("secret")}
    record = {"invocation": "1", "content": content, "memory_bytes": None, "listen": None}
    host.write(COMPOSE, "compose")
    host.write("run/sparkiac/secrets/key", "secret", 0o600)
    host.write("etc/sparkiac/secrets.encrypted/key", "not read here", 0o600)
    (tmp_path / "root/etc/sparkiac/secrets").symlink_to("../../run/sparkiac/secrets")
    host.write("proc/sys/vm/swappiness", "1\n")
    host.write("run/sparkiac/started/a.json", json.dumps(record))
    host.write("var/lib/sparkiac/files/12/x.py", "")
    host.write("var/lib/sparkiac/state.json", json.dumps({**CLEAN["state"], "decision": None, "secret": None}))
    (tmp_path / "root/var/cache/sparkiac/a").mkdir(parents=True)
    (tmp_path / "root/var/cache/sparkiac/a").chmod(0o700)
    (tmp_path / "images").write_text(f"{IMAGE} sha256:11\nsha256:12 sha256:12\n")
    (tmp_path / "networks").write_text(f"{NETWORK} 13\n")
    (tmp_path / "groups").write_text("sparkiac: sparkiac docker\n")
    host.systemd()
    return host


def test_nothing_to_do_starts_four_processes_and_changes_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    run = type(host.machine).run

    def noted(machine: object, *argv: str) -> object:
        ran.append(" ".join(argv))
        return run(machine, *argv)

    monkeypatch.setattr(type(host.machine), "run", noted)
    before = sorted((path, path.lstat().st_mtime_ns) for path in (host.stub / "root").rglob("*"))
    assert host.look() == {}
    assert sorted((path, path.lstat().st_mtime_ns) for path in (host.stub / "root").rglob("*")) == before
    assert ran[0].startswith("systemctl show ")
    assert ran[1:] == [
        f"docker image inspect --format {{{{.Id}}}} {IMAGE} sha256:12",
        f"docker network inspect --format {{{{.Id}}}} {NETWORK}",
        "id --name --groups sparkiac",
    ]


def test_files_and_kernel_settings(host: Host) -> None:
    host.write("proc/sys/vm/swappiness", "60\n")
    assert host.look() == {"differs": True, "sysctls": ["vm.swappiness"]}
    assert host.told["lines"] == ["set vm.swappiness: kernel setting, to 1"]
    host.write("proc/sys/vm/swappiness", "1\n")
    host.write(COMPOSE, "compose", 0o600)
    assert host.look() == {"differs": True, "files": [COMPOSE]}
    other = [{"path": COMPOSE, "mode": "0600", "sha256": sha256("other")}]
    step = {"unit": "a", "action": "restart", "because": f"changed: /{COMPOSE}"}
    texts = {COMPOSE: "other"}
    assert host.look(files=other, texts=texts) == {"differs": True, "files": [COMPOSE], "units": [step]}


def test_a_file_whose_change_nothing_sees_restarts_no_unit(host: Host) -> None:
    text = "# Generated by another version.\ncompose"
    other = [{"path": COMPOSE, "mode": "0644", "sha256": sha256(text)}]
    assert host.look(files=other, texts={COMPOSE: text}) == {"differs": True, "files": [COMPOSE]}


def test_a_unit_that_does_not_run(host: Host) -> None:
    host.systemd(ActiveState="inactive")
    step = {"unit": "a", "action": "start", "because": "not running"}
    assert host.look() == {"differs": True, "units": [step]}


@pytest.mark.parametrize("stored", ["other", None])
def test_a_changed_secret_restarts_its_units_and_its_value_is_in_no_output(host: Host, stored: str | None) -> None:
    path = host.stub / "root/etc/sparkiac/secrets/key"
    hashes = {"salt": SALT, "hashes": {"key": sha256(SALT + "new")}, "read": ["key"]}
    if stored is None:
        path.unlink()
    found = host.look(secrets=hashes)
    because = "changed: /etc/sparkiac/secrets/key"
    assert found == {
        "differs": True,
        "secrets": ["key"],
        "units": [{"unit": "a", "action": "restart", "because": because}],
    }
    assert host.look(secrets={"salt": SALT, "hashes": {}, "read": ["key"]}).get("secrets") is None


def test_a_secret_that_is_not_encrypted_yet_restarts_nothing(host: Host) -> None:
    (host.stub / "root/etc/sparkiac/secrets.encrypted/key").unlink()
    assert host.look() == {"differs": True, "plain": ["key"]}
    assert host.told["lines"] == ["encrypt secret key: with the key of this host"]


def test_a_secret_that_nothing_reads_is_announced_to_go(host: Host) -> None:
    for name in ("old", "old.previous", "key.previous", "README.md"):
        host.write(f"run/sparkiac/secrets/{name}", "")
        host.write(f"etc/sparkiac/secrets.encrypted/{name}", "")
    assert host.look() == {"differs": True, "unread": ["old", "old.previous"]}
    because = "nothing reads it any more; a generation that read it needs it again after a rollback"
    assert host.told["lines"] == [f"delete secret {name}: {because}" for name in ("old", "old.previous")]


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        ("images", f"{IMAGE} sha256:11\n", "the image sha256:12 is missing"),
        ("networks", "", f"the network {NETWORK} is missing"),
        ("groups", "root: root\n", "the user sparkiac is missing"),
        ("groups", "sparkiac: sparkiac\n", "the user sparkiac is not in the group docker"),
    ],
)
def test_what_is_missing(host: Host, path: str, text: str, sentence: str) -> None:
    (host.stub / path).write_text(text)
    assert host.look() == {"differs": True, "missing": [sentence]}


def test_directories_and_extra_files(host: Host) -> None:
    (host.stub / "root/var/lib/sparkiac/files/12/x.py").unlink()
    cache = host.stub / "root/var/cache/sparkiac/a"
    cache.chmod(0o755)
    wrong = "the directory /var/cache/sparkiac/a has the mode 0755 instead of 0700"
    extra = "the extra file /var/lib/sparkiac/files/12/x.py is missing"
    assert host.look() == {"differs": True, "missing": [wrong, extra]}
    cache.rmdir()
    assert host.look()["missing"] == ["the directory /var/cache/sparkiac/a is missing", extra]
    cache.symlink_to(host.stub)
    assert host.look()["missing"] == ["/var/cache/sparkiac/a is not a directory", extra]


@pytest.mark.parametrize(
    ("layout", "places"),
    [
        ("hub", ["hub/models--x--y/snapshots/c0"]),
        ("directory", [".sparkiac/x/y/c0", "x/y"]),  # the second one is a directory of the user
    ],
)
def test_a_model_that_would_be_downloaded(host: Host, layout: str, places: list[str]) -> None:
    model = {"model": "x/y", "commit": "c0", "layout": layout, "manifest": "models/x--y.json", "own": None}
    host.data["plan"]["needs"]["stores"] = [{"path": "/models", "models": [model]}]
    wanted = {"differs": True, "missing": ["the model x/y@c0 is missing in /models"]}
    assert host.look() == wanted
    for place in (host.stub / "root/models" / each for each in places):
        place.mkdir(parents=True)
        assert host.look() == {}
        place.rmdir()
    other = host.stub / "root/models/.sparkiac/x/y/c1"
    other.mkdir(parents=True)
    (host.stub / "root/models/x").mkdir(exist_ok=True)
    (host.stub / "root/models/x/y").symlink_to("../.sparkiac/x/y/c1")
    assert host.look() == wanted


def test_docker_that_does_not_work_is_said_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    (host.stub / "down").touch()
    said = "Cannot connect to the Docker daemon"
    assert host.look()["missing"] == [
        f"docker cannot inspect any image: {said}",
        f"docker cannot inspect any network: {said}",
    ]
    run = type(host.machine).run

    def without(machine: object, *argv: str) -> object:
        if argv[0] == "docker":
            raise FileNotFoundError(2, "No such file or directory", "docker")
        return run(machine, *argv)

    monkeypatch.setattr(type(host.machine), "run", without)
    assert host.look()["missing"] == ["docker cannot be run: No such file or directory"] * 2


PENDING = {"generation": "one", "phase": "trying"}


@pytest.mark.parametrize("change", [{"committed": "zero"}, {"committed": None}, {"pending": PENDING}])
def test_a_switch_that_did_not_end_well_is_a_difference(host: Host, change: dict[str, Any]) -> None:
    """The token of the run is not shown."""
    state = {**CLEAN["state"], **change}
    secret = {"run": "5", "token": "canary", "also": [], "turn": None}
    stored = {
        **state,
        "decision": None,
        "secret": "canary",
        "pending": state["pending"] and {**state["pending"], **secret},
    }
    host.write("var/lib/sparkiac/state.json", json.dumps(stored))
    assert host.look() == {"differs": True, "state": state}


@pytest.mark.parametrize("text", [None, "", "[]"])
def test_a_host_without_a_state_differs(host: Host, text: str | None) -> None:
    path = host.stub / "root/var/lib/sparkiac/state.json"
    path.unlink() if text is None else path.write_text(text)
    assert host.look() == {"differs": True, "state": dict.fromkeys(CLEAN["state"])}


def test_the_holder_of_the_lease_is_shown(host: Host) -> None:
    switch_lease.take(host.machine, "run", "milo@desk, pid 4711")
    found = host.look()
    assert set(found) == {"lease"}
    assert (found["lease"]["run"], found["lease"]["owner"]) == ("run", "milo@desk, pid 4711")
    assert found["lease"]["free"] is False


def serve(host: Host, url: str | None, **values: object) -> None:
    """Let unit `a` promise a server at a URL; the programs are where an apply installs them."""
    programs = host.stub / "root/usr/local/lib/sparkiac"
    if not programs.exists():
        programs.parent.mkdir(parents=True)
        programs.symlink_to(SCRIPTS)
    host.data["plan"]["units"][0]["promise"] = promise("a", url=url, **values)


def test_servers_are_asked_if_nothing_differs(host: Host) -> None:
    with serving(Service()) as server:
        server.authorization = "Bearer secret"
        serve(host, server.url, api_key="key", models=["chat"])
        host.systemd(StatusText="healthy")
        assert host.look() == {}
        assert server.asked == ["GET /health", "GET /v1/models"]
        serve(host, server.url, api_key="key", models=["other"])
        assert host.look() == {"faults": ["a: /v1/models: serves chat, fast, not other"]}
        host.systemd(ActiveState="failed", StatusText="stopping")
        server.asked.clear()
        assert "faults" not in host.look()
        assert server.asked == []
    host.systemd(StatusText="healthy")
    serve(host, server.url)
    [fault] = host.look()["faults"]
    assert fault.startswith("a: /health: ")


def test_the_last_health_check_counts_too(host: Host) -> None:
    """It has asked the model: a worker of a group and an engine that hangs answer nothing here."""
    serve(host, None, kind="worker", models=[])
    host.systemd(StatusText="healthy /v1/chat/completions: no answer within 60 s")
    assert host.look() == {"faults": ["a: its last health check: healthy /v1/chat/completions: no answer within 60 s"]}
    host.systemd()
    assert host.look() == {}


def test_another_key_is_named_before_anything_is_done(host: Host) -> None:
    said = "look: this program does not know plan.units\\[0\\].lisen"
    plan = {**host.data["plan"], "units": [{**host.data["plan"]["units"][0], "lisen": "x"}]}
    with pytest.raises(ValueError, match=said):
        host.look(plan=plan)
    assert (host.stub / "log").read_text() == ""
