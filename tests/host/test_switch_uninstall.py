"""An uninstall removes exactly what sparkiac put on a host; stand-ins for systemctl, docker, nft, id and userdel."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host import secrets
from sparkiac.host import state as switch_state
from sparkiac.host.generation import GenerationPlan
from sparkiac.host.switch import uninstall as switch_uninstall
from tests.host.expected import complete

if TYPE_CHECKING:
    from types import ModuleType

STUBS = Path(__file__).parent / "stubs"
UNIT_A, UNIT_B = "etc/systemd/system/sparkiac-a.service", "etc/systemd/system/sparkiac-b.service"
RECOVER = "etc/systemd/system/sparkiac-recover.service"
DROP_IN = "etc/systemd/system/sparkiac-a.service.d/50-own.conf"
SYSCTL, PLAN = "etc/sysctl.d/90-sparkiac.conf", "etc/sparkiac/generation.json"
PROGRAM = "usr/local/lib/sparkiac/switch"
PINS = ("etc/apt/apt.conf.d/90-sparkiac", "etc/apt/preferences.d/00-sparkiac.pref")
STALE = "etc/systemd/system/sparkiac-old.service"
"""Only the previous generation has it, and it is still installed."""
FOREIGN = {
    "etc/systemd/system/docker.service": "docker",
    "etc/systemd/system/sparkiac-b.service.d/override.conf": "[Service]",
    "etc/sysctl.d/99-other.conf": "vm.swappiness = 3",
    "home/milo/notes": "notes",
    "etc/passwd": "root",
}
IMAGE = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64
COMMIT = "0" * 40


@dataclass
class Host:
    """A host that serves generation `two`."""

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

    def write(self, name: str, text: str) -> None:
        """Write a file of the host."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def generation(self, name: str, sequence: int, *paths: str, **plan: object) -> None:
        """Stage and install a generation."""
        plan = complete(GenerationPlan, plan)
        texts = {path: json.dumps(plan) if path == PLAN else f"{path} of {name}\n" for path in [*paths, PLAN]}
        listed = []
        for path, text in texts.items():
            self.write(path, text)
            self.write(f"var/lib/sparkiac/generations/{name}/files/{path}", text)
            listed.append({"path": path, "mode": "0644", "sha256": hashlib.sha256(text.encode()).hexdigest()})
        self.write(f"var/lib/sparkiac/generations/{name}/files.json", json.dumps(listed))
        models = [[str(self.root / "models"), "directory", "acme/tiny", COMMIT]]
        record = {"generation": name, "sequence": sequence, "images": {IMAGE: "sha256:11"}, "models": models}
        caches = [str(self.root / "var/cache/sparkiac/a/1")]
        self.write(f"var/lib/sparkiac/generations/{name}/record.json", json.dumps({**record, "directories": caches}))

    def uninstall(self, **options: bool) -> tuple[list[str], dict[str, str]]:
        """Uninstall; return what was removed, and what stays with why."""
        (self.stub / "log").write_text("")
        found = self.module.uninstall(self.machine, **{"dry_run": False, **options})
        return found["removed"], {each["path"]: each["because"] for each in found["kept"]}

    def tree(self) -> dict[str, str]:
        """Return the files of the host with their contents."""
        paths = [path for path in self.root.rglob("*") if path.is_symlink() or path.is_file()]
        return {
            str(path.relative_to(self.root)): str(path.readlink()) if path.is_symlink() else path.read_text()
            for path in sorted(paths)
        }

    def log(self) -> list[str]:
        """Return the commands that changed the host."""
        lines = (self.stub / "log").read_text().splitlines()
        return [line for line in lines if not line.startswith(("nft --json", "network ls", "image inspect", "version"))]


def unit(name: str) -> dict[str, Any]:
    """Make the plan of a unit."""
    return {"name": name, "files": [], "secrets": []}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Return a host with two generations."""
    monkeypatch.setenv("STUB", str(tmp_path))
    monkeypatch.setenv("PATH", f"{STUBS}:{os.environ['PATH']}")
    host = Host(tmp_path, switch_uninstall)
    for path, text in FOREIGN.items():
        host.write(path, text)
    host.generation("one", 1, UNIT_A, STALE, SYSCTL, PROGRAM, units=[unit("sparkiac-old"), unit("sparkiac-a")])
    now = (UNIT_A, DROP_IN, UNIT_B, RECOVER, SYSCTL, PROGRAM, *PINS)
    sysctls = [{"key": "vm.swappiness", "value": "1"}, {"key": "vm.x", "value": "2"}]
    host.generation("two", 2, *now, units=[unit("sparkiac-b"), unit("sparkiac-a")], sysctls=sysctls)
    states = switch_state
    states.write(host.machine, states.State(current="two", previous="one", committed="two"))
    host.write("var/lib/sparkiac/originals.json", json.dumps({"vm.swappiness": "60"}))
    host.write("var/lib/sparkiac/files/12/x.py", "x")
    host.write("proc/sys/vm/swappiness", "1\n")
    host.write("run/sparkiac/secrets/key", "secret")
    (host.root / "etc/sparkiac").mkdir(parents=True, exist_ok=True)
    (host.root / "etc/sparkiac/secrets").symlink_to("../../run/sparkiac/secrets")
    host.write(secrets.UNIT, secrets.UNIT_TEXT)
    host.write("run/sparkiac/started/sparkiac-a.json", "{}")
    host.write("var/cache/sparkiac/a/1/kernel", "kernel")
    host.write(f"models/.sparkiac/acme/tiny/{COMMIT}/weights", "weights")
    (host.root / "var/lib/sparkiac/programs").symlink_to(host.root / "var/lib/sparkiac/generations/two/files")
    (host.root / "etc/sparkiac/link").symlink_to(host.root / "home/milo")
    (host.root / "var/cache/sparkiac/b").symlink_to(host.root / "home/milo")
    (tmp_path / "units.json").write_text("{}")
    (tmp_path / "images").write_text(f"{IMAGE} sha256:11\nother:1 sha256:12\n")
    (tmp_path / "networks").write_text("sparkiac 1\nsparkiac-a_default 2\nbridge 3\nsparkiacs 4\n")
    (tmp_path / "groups").write_text("sparkiac: sparkiac docker\nroot: root\n")
    (tmp_path / "tables").write_text("bridge:sparkiac inet:sparkiac inet:mine inet:sparkiac_drain")
    (tmp_path / "sparkiac-doors.active").touch()
    return host


REMOVED = [
    "unit sparkiac-a.service",
    "unit sparkiac-b.service",
    "unit sparkiac-old.service",
    "unit sparkiac-recover.service",
    "unit sparkiac-secrets.service",
    "unit sparkiac-doors.service",
    "nftables table bridge sparkiac",
    "nftables table inet sparkiac",
    "nftables table inet sparkiac_drain",
    *(f"/{path}" for path in PINS),
    f"/{DROP_IN}",
    f"/{UNIT_A}",
    f"/{UNIT_B}",
    f"/{STALE}",
    f"/{RECOVER}",
    f"/{secrets.UNIT}",
    f"/{SYSCTL}",
    "vm.swappiness = 60",
    "network sparkiac",
    "network sparkiac-a_default",
    "/etc/sparkiac",
    "/var/cache/sparkiac",
    "/run/sparkiac",
    "user sparkiac",
    "/var/lib/sparkiac/files",
    "/var/lib/sparkiac/originals.json",
    "/var/lib/sparkiac/programs",
    "/var/lib/sparkiac/state.json",
    "/var/lib/sparkiac/generations",
    "/var/lib/sparkiac",
    "/usr/local/lib/sparkiac",
]


def left(host: Host) -> dict[str, str]:
    """Return what an uninstall without options leaves."""
    stays = (*FOREIGN, "models/")
    return {path: text for path, text in host.tree().items() if path.startswith(stays)} | {
        "proc/sys/vm/swappiness": "60\n"
    }


def test_exactly_what_is_ours_goes(host: Host) -> None:
    expected = left(host)
    removed, kept = host.uninstall()
    assert sorted(removed) == sorted(["compile cache " + str(host.root / "var/cache/sparkiac/a/1"), *REMOVED])
    assert host.tree() == expected
    assert kept == {
        "/etc/systemd/system/sparkiac-b.service.d/override.conf": "sparkiac did not write it",
        IMAGE: "images stay",
        f"acme/tiny@{COMMIT} in {host.root}/models": "weights stay unless their removal is requested",
        "vm.x": "its value before sparkiac is unknown; the present one holds until the next boot",
    }
    assert not (host.root / "etc/systemd/system/sparkiac-a.service.d").exists()
    assert (host.stub / "networks").read_text() == "bridge 3\nsparkiacs 4\n"
    assert (host.stub / "images").read_text().startswith(IMAGE)
    assert (host.stub / "groups").read_text() == "root: root\n"


def test_units_stop_in_reverse_order_before_their_files_go(host: Host) -> None:
    host.uninstall()
    names = ["sparkiac-a", "sparkiac-b", "sparkiac-old", "sparkiac-recover", "sparkiac-secrets"]
    assert host.log()[:19] == [
        *(f"{verb} {name}" for name in names for verb in ("stop", "disable", "reset-failed")),
        "stop sparkiac-doors",
        "nft delete table bridge sparkiac",
        "nft delete table inet sparkiac",
        "nft delete table inet sparkiac_drain",
    ]
    assert host.log()[-2:] == ["network rm sparkiac-a_default", "userdel sparkiac"]


def test_a_dry_run_lists_the_same_and_changes_nothing(host: Host) -> None:
    host.write(UNIT_A, "edited")
    before = host.tree()
    listed = host.uninstall(dry_run=True)
    assert host.tree() == before
    assert host.log() == []
    assert host.uninstall() == listed


def test_weights_go_when_requested_and_images_stay(host: Host) -> None:
    removed, kept = host.uninstall(weights=True)
    assert f"model acme/tiny@{COMMIT} in {host.root}/models" in removed
    assert (host.stub / "images").read_text().startswith(IMAGE)
    assert not any(path.endswith("/weights") for path in host.tree())
    assert len(kept) == 3


def test_what_cannot_be_removed_is_kept_with_the_reason(host: Host) -> None:
    (host.stub / "used").write_text("sparkiac\n")
    removed, kept = host.uninstall()
    assert kept["network sparkiac"] == "Error response from daemon: network sparkiac is in use"
    assert "network sparkiac" not in removed


def test_a_host_without_docker_can_be_cleaned(host: Host) -> None:
    (host.stub / "down").touch()
    assert "/var/lib/sparkiac" in host.uninstall()[0]


def test_data_of_services_and_saved_files_stay(host: Host) -> None:
    host.write("var/lib/sparkiac/webui/db", "chats")
    host.write(UNIT_A, "edited by hand")
    removed, kept = host.uninstall()
    tree = host.tree()
    assert tree["var/lib/sparkiac/webui/db"] == "chats"
    assert tree[f"var/lib/sparkiac/saved/two/{UNIT_A}"] == "edited by hand"
    assert [path for path in tree if path.startswith("var/lib/sparkiac/")] == [
        f"var/lib/sparkiac/saved/two/{UNIT_A}",
        "var/lib/sparkiac/webui/db",
    ]
    assert not (host.root / "var/lib/sparkiac/programs").is_symlink()
    assert kept["/var/lib/sparkiac/webui"] == "it contains data of a service"
    assert kept["user sparkiac"] == "data of a service may belong to it"
    assert kept["/var/lib/sparkiac/saved"] == "it is for files that were edited by hand"
    assert "user sparkiac" not in removed
    assert "/var/lib/sparkiac" not in removed


def test_metrics_of_the_host_go_and_the_former_network_stays(host: Host) -> None:
    """Neither is data of a service, so the user goes too."""
    host.write("var/lib/sparkiac/metrics/sparkiac.prom", "sparkiac_unit 1")
    host.write("var/lib/sparkiac/network/60-sparkiac.yaml", "network: {}")
    removed, kept = host.uninstall()
    assert [path for path in host.tree() if path.startswith("var/lib/sparkiac")] == [
        "var/lib/sparkiac/network/60-sparkiac.yaml"
    ]
    assert "/var/lib/sparkiac/metrics" in removed
    assert "user sparkiac" in removed
    assert not [path for path, because in kept.items() if "data of a service" in because]
    assert kept["/var/lib/sparkiac/network"].startswith("it is the former network configuration")


def test_no_link_is_followed(host: Host) -> None:
    """Directories and files of ours were replaced by links to places of others."""
    for name in ("etc/sparkiac", "var/cache/sparkiac", "etc/systemd/system/sparkiac-a.service.d"):
        shutil.rmtree(host.root / name)
        host.write(f"home/{Path(name).name}/50-own.conf", "of others")
        (host.root / name).symlink_to(host.root / "home" / Path(name).name)
    (host.root / UNIT_B).unlink()
    (host.root / UNIT_B).symlink_to(host.root / "home/milo/notes")
    others = {path: text for path, text in host.tree().items() if path.startswith("home/")}
    removed, kept = host.uninstall()
    assert {path: text for path, text in host.tree().items() if path.startswith("home/")} == others
    assert kept[f"/{DROP_IN}"] == "/etc/systemd/system/sparkiac-a.service.d is a symbolic link"
    assert not (host.root / "etc/sparkiac").is_symlink()
    assert f"/{UNIT_B}" in removed


@pytest.mark.parametrize("path", ["etc/passwd", "etc/systemd/system/../../passwd", "/etc/passwd", "home/milo/notes"])
def test_a_list_of_files_that_names_others_removes_nothing_of_them(host: Host, path: str) -> None:
    listed = [{"path": path, "mode": "0644", "sha256": ""}]
    host.write("var/lib/sparkiac/generations/one/files.json", json.dumps(listed))
    removed, _ = host.uninstall()
    assert not any(path in each for each in removed)
    assert FOREIGN.items() <= host.tree().items()


def test_a_damaged_record_stops_the_uninstall_before_anything_is_removed(host: Host) -> None:
    host.write("var/lib/sparkiac/generations/one/record.json", "{")
    before = host.tree()
    with pytest.raises(Exception, match=r"one/record\.json cannot be read .*: fix or remove it"):
        host.uninstall()
    assert host.tree() == before


def test_a_second_uninstall_finds_nothing(host: Host) -> None:
    host.uninstall()
    before = host.tree()
    removed, _ = host.uninstall()
    assert removed == []
    assert host.log() == []
    assert host.tree() == before


@pytest.mark.parametrize("count", range(1, len(REMOVED) + 1, 4))
def test_an_uninstall_that_was_killed_can_be_repeated(host: Host, count: int) -> None:
    expected = left(host)
    steps = host.module.steps(host.machine, weights=False)
    for _ in range(count):
        assert next(steps).remove() == ""
    removed, _ = host.uninstall()
    assert len(removed) <= len(REMOVED) + 1
    assert host.tree() == expected
    assert (host.stub / "groups").read_text() == "root: root\n"


def test_the_default_kernel_is_that_of_the_distribution_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for update-grub remembers that it ran, after the files are gone."""
    program = host.stub / "bin/update-grub"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nls {host.root}/etc/grub.d {host.root}/etc/default/grub.d >$STUB/updated\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    ours = [*switch_uninstall.KERNEL_UNITS, *switch_uninstall.OF_GRUB, "var/lib/sparkiac/kernel.json"]
    for path in ours:
        host.write(path, "")
    removed, _ = host.uninstall()
    assert {"unit sparkiac-kernel.service", "unit sparkiac-packages.service", "the default kernel of GRUB"} <= {
        *removed
    }
    assert not any((host.root / path).exists() for path in ours)
    assert "sparkiac" not in (host.stub / "updated").read_text().replace(str(host.root), "")
