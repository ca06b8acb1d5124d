"""What was changed on a host by hand, and how it is saved before an apply replaces it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.generation import GenerationPlan
from sparkiac.host.switch import drift as switch_drift
from tests.host.expected import complete

if TYPE_CHECKING:
    from types import ModuleType

STUBS = Path(__file__).parent / "stubs"
COMPOSE, UNIT = "etc/sparkiac/a/compose.yaml", "etc/systemd/system/sparkiac-a.service"
SYSCTL, PLAN = "etc/sysctl.d/90-sparkiac.conf", "etc/sparkiac/generation.json"
OWN_DROP_IN = "etc/systemd/system/sparkiac-a.service.d/own.conf"
TEXT = "".join(f"line {number}\n" for number in range(5))


@dataclass
class Host:
    """A host on which generation `one` is installed."""

    stub: Path
    module: ModuleType

    @property
    def root(self) -> Path:
        """Root directory of the host."""
        return self.stub / "root"

    @property
    def machine(self) -> Any:  # noqa: ANN401
        """The host."""
        return units_host.LocalHost(self.root)

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> Path:
        """Write a file of the host."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    def files(self) -> list[tuple[str, str]]:
        """Return path and kind of each file that differs."""
        return [(each["path"], each["kind"]) for each in self.module.drift(self.machine, "one")["files"]]

    def diff(self) -> str:
        """Return the diff of the only file that differs."""
        [found] = self.module.drift(self.machine, "one")["files"]
        return str(found["diff"])

    def sysctls(self) -> list[tuple[str, str]]:
        """Return value and reason of each kernel setting that differs."""
        return [(each["found"], each["because"]) for each in self.module.drift(self.machine, "one")["sysctls"]]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Return a host without drift."""
    monkeypatch.setenv("STUB", str(tmp_path))
    monkeypatch.setenv("PATH", f"{STUBS}:{os.environ['PATH']}")
    host = Host(tmp_path, switch_drift)
    unit = {"name": "sparkiac-a", "files": [COMPOSE]}
    sysctls = [{"key": "vm.swappiness", "value": "1"}, {"key": "net.core.rmem_max", "value": "4 8"}]
    plan = complete(GenerationPlan, {"units": [unit], "sysctls": sysctls})
    listed = []
    for path in (COMPOSE, UNIT, OWN_DROP_IN, SYSCTL, PLAN):
        text = json.dumps(plan) if path == PLAN else TEXT
        host.write(f"var/lib/sparkiac/generations/one/files/{path}", text)
        host.write(path, text)
        listed.append({"path": path, "mode": "0644", "sha256": hashlib.sha256(text.encode()).hexdigest()})
    host.write("var/lib/sparkiac/generations/one/files.json", json.dumps(listed))
    host.write("proc/sys/vm/swappiness", "1\n")
    host.write("proc/sys/net/core/rmem_max", "4\t8\n")
    host.write("etc/sparkiac/secrets/key", "correct horse\n", 0o600)
    content = {COMPOSE: hashlib.sha256(TEXT.encode()).hexdigest()}
    record = {"invocation": "1", "content": content, "memory_bytes": None, "listen": None}
    host.write("run/sparkiac/started/sparkiac-a.json", json.dumps(record))
    running = {"ActiveState": "active", "SubState": "running", "UnitFileState": "enabled", "InvocationID": "1"}
    (tmp_path / "units.json").write_text(json.dumps({"sparkiac-a": running}))
    nothing = {"files": [], "sysctls": [], "units": [], "packages": [], "lines": []}
    assert host.module.drift(host.machine, "one") == nothing
    return host


def test_an_edited_file_is_shown_with_its_diff_and_its_unit(host: Host) -> None:
    host.write(COMPOSE, TEXT.replace("line 2", "line two"))
    found = host.module.drift(host.machine, "one")
    assert host.files() == [(COMPOSE, "edited")]
    assert found["files"][0]["diff"].splitlines() == [
        f"--- /{COMPOSE} (generation)",
        f"+++ /{COMPOSE} (this host)",
        "@@ -1,5 +1,5 @@",
        " line 0",
        " line 1",
        "-line 2",
        "+line two",
        " line 3",
        " line 4",
    ]
    assert found["units"] == [{"unit": "sparkiac-a", "action": "restart", "because": f"changed: /{COMPOSE}"}]
    diff = [f"  {line}" for line in found["files"][0]["diff"].splitlines()]
    restart = f"sparkiac-a would restart: changed: /{COMPOSE}"
    assert found["lines"] == [f"edited: /{COMPOSE}", *diff, restart]


def test_other_differences_of_a_file(host: Host) -> None:
    (host.root / COMPOSE).unlink()
    (host.root / UNIT).chmod(0o600)
    assert host.files() == [(COMPOSE, "missing"), (UNIT, "mode")]
    (host.root / COMPOSE).symlink_to("/dev/null")
    [link, mode] = host.module.drift(host.machine, "one")["files"]
    assert (link["kind"], link["diff"]) == ("edited", "symbolic link to /dev/null")
    assert mode["diff"] == "0600 instead of 0644"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may change the owner of a file")
def test_another_owner(host: Host) -> None:
    os.chown(host.root / UNIT, 1234, -1)
    assert host.files() == [(UNIT, "owner")]
    assert host.diff() == "user ID 1234 instead of root"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b"])
def test_a_binary_file_has_no_diff(host: Host, content: bytes) -> None:
    host.write(COMPOSE, content)
    assert host.diff() == "not a text file"


def test_a_long_diff_is_cut(host: Host) -> None:
    host.write(COMPOSE, "new\n" * 1000)
    assert len(host.diff().splitlines()) == 201
    assert host.diff().endswith("\n… 808 more lines")


@pytest.mark.parametrize(
    ("added", "shown"),
    [
        ("token: correct horse", "+token: ***"),
        ("HF_TOKEN=hf_abcdefghijkl", "+HF_TOKEN=***"),
        ("key: nvapi-abc_defghijk-l", "+key: ***"),
        ("Authorization: Bearer abc", "+Authorization: Bearer ***"),
        ("url: http://milo:pw@host/", "+url: http://***@host/"),
    ],
)
def test_a_secret_is_in_no_diff(host: Host, added: str, shown: str) -> None:
    host.write(UNIT, TEXT + added + "\n")
    assert host.diff().splitlines()[-1] == shown


def test_a_secret_of_several_lines_is_in_no_diff(host: Host) -> None:
    host.write("etc/sparkiac/secrets/pem", "BEGIN\nabc\nEND\n")
    host.write(UNIT, TEXT + "BEGIN\nabc\nEND\n")
    assert host.diff().splitlines()[-1] == "+***"


@pytest.mark.parametrize("directory", ["etc/systemd/system", "run/systemd/system"])
@pytest.mark.parametrize("name", ["sparkiac-a.service.d", "sparkiac-.service.d", "sparkiac.slice.d"])
def test_drop_ins_of_others(host: Host, directory: str, name: str) -> None:
    host.write(f"{directory}/{name}/override.conf", "[Service]\n")
    host.write(f"{directory}/docker.service.d/override.conf", "[Service]\n")
    assert host.files() == [(f"{directory}/{name}/override.conf", "foreign drop-in")]
    assert host.diff().splitlines()[-1] == "+[Service]"


@pytest.mark.parametrize(
    ("path", "line", "because"),
    [
        ("etc/sysctl.d/99-x.conf", "vm.swappiness = 60", "is read later: 60 holds after a boot"),
        ("usr/lib/sysctl.d/99-x.conf", "-vm/swappiness=60", "is read later: 60 holds after a boot"),
        ("etc/sysctl.d/10-x.conf", "vm.swappiness=60", "is read earlier: 1 holds after a boot"),
    ],
)
def test_a_kernel_setting_that_another_file_sets(host: Host, path: str, line: str, because: str) -> None:
    host.write(path, f"# vm.swappiness = 2\n;vm.swappiness=3\n\n{line}\nnet.core.rmem_max = 4  8\nkernel.x = 1\n")
    assert host.sysctls() == [("60", f"/{path} sets 60 and {because}")]


def test_a_file_that_another_one_hides_sets_nothing(host: Host) -> None:
    host.write("etc/sysctl.d/99-x.conf", "")
    host.write("usr/lib/sysctl.d/99-x.conf", "vm.swappiness = 60\n")
    assert host.sysctls() == []


def test_a_kernel_setting_that_runs_with_another_value(host: Host) -> None:
    host.write("proc/sys/vm/swappiness", "60\n")
    (host.root / "proc/sys/net/core/rmem_max").unlink()
    because = "the kernel runs with another value"
    assert host.sysctls() == [("60", because), ("unknown", because)]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("net.ipv4.x", "net.ipv4.x"),
        ("net/ipv4/eth0.100/x", "net.ipv4.eth0/100.x"),
        ("net.eth0/100.x", "net.eth0/100.x"),
    ],
)
def test_names_of_kernel_settings(host: Host, key: str, name: str) -> None:
    assert host.module.dotted(key) == name


def test_edited_files_are_saved_once_and_earlier_copies_stay(host: Host) -> None:
    assert host.module.save_edited(host.machine, "one") == []
    saved = "/var/lib/sparkiac/saved/one/" + COMPOSE
    for text, paths in (
        ("first", [saved]),
        ("first", []),
        ("second", [f"{saved}.1"]),
        ("first", []),
        ("3", [f"{saved}.2"]),
    ):
        host.write(COMPOSE, text)
        assert host.module.save_edited(host.machine, "one") == paths
    copies = {path.name: path.read_text() for path in (host.root / saved.lstrip("/")).parent.iterdir()}
    assert copies == {"compose.yaml": "first", "compose.yaml.1": "second", "compose.yaml.2": "3"}
    saved_files = [path for path in (host.root / "var/lib/sparkiac/saved").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in saved_files} == {0o600}
    assert (host.root / "var/lib/sparkiac/saved").stat().st_mode & 0o777 == 0o700


def test_only_other_content_is_saved_and_links_are_not_followed(host: Host) -> None:
    (host.root / UNIT).chmod(0o600)
    (host.root / SYSCTL).unlink()
    (host.root / COMPOSE).unlink()
    (host.root / COMPOSE).symlink_to("/etc/shadow")
    host.write(f"var/lib/sparkiac/saved/one/{COMPOSE}.new", "left by a killed run")
    saved = "/var/lib/sparkiac/saved/one/" + COMPOSE
    assert host.module.save_edited(host.machine, "one") == [saved]
    assert (host.root / saved.lstrip("/")).readlink() == Path("/etc/shadow")
    assert host.module.save_edited(host.machine, "one") == []
    assert not (host.root / f"{saved}.new".lstrip("/")).exists()
