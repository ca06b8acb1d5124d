"""The software of a host that belongs together: read from real files of dpkg and APT, kept by real preferences."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.fleet import facts
from sparkiac.host import apt, software
from sparkiac.host.local import LocalHost
from sparkiac.render import hosts
from tests.host.debian import INSTALLED, META, NEW, NEWER, OLD, OTHERS, Debian
from tests.host.known import about_software

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.fleet.problems import Problem


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Debian:
    """Return a root with a real APT, whose running kernel is the old one."""
    made = Debian(tmp_path, monkeypatch)
    files = {
        "proc/sys/kernel/osrelease": f"{OLD}\n",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 ro quiet kho=off\n",
    }
    for name, text in files.items():
        (made.root / name).parent.mkdir(parents=True, exist_ok=True)
        (made.root / name).write_text(text)
    return made


def pin(debian: Debian) -> dict[str, str]:
    """Pin what the host has, and put the rendered files there."""
    packages = software.read(LocalHost(debian.root))["packages"]
    for each in hosts.pinned_files(packages):
        (debian.root / each.path).write_bytes(each.content)
    return dict(packages)


def test_exactly_the_packages_that_belong_together_are_read(debian: Debian) -> None:
    found = software.read(LocalHost(debian.root))
    assert found["packages"] == dict(sorted(INSTALLED.items()))
    assert (found["kernel"], found["next_kernel"], found["cmdline"]) == (OLD, None, "ro quiet kho=off")


def test_a_pinned_host_upgrades_everything_else_and_nothing_of_ours(debian: Debian) -> None:
    pinned = pin(debian)
    debian.september()
    debian.apt("dist-upgrade")
    found = debian.versions()
    assert {name: found[name] for name in pinned} == INSTALLED
    assert {name: found[name] for name in OTHERS} == {name: NEWER[name] for name in OTHERS}
    assert [*apt.drifted(LocalHost(debian.root), pinned)] == []


def test_without_the_files_the_upgrade_of_september_moves_them_and_apt_says_so(debian: Debian) -> None:
    pinned = pin(debian)
    for each in hosts.pinned_files({}):
        (debian.root / each.path).unlink()
    debian.september()
    debian.apt("dist-upgrade")
    assert debian.versions() == INSTALLED | OTHERS | NEWER | {f"linux-image-{NEW}": "7.0.0-1019.19"}
    found = {each["package"]: each for each in apt.drifted(LocalHost(debian.root), pinned)}
    assert set(found) == set(NEWER) & set(INSTALLED)
    assert found[META]["found"] == NEWER[META]
    assert found[META]["because"].endswith(", apt-get -q dist-upgrade")
    assert software.read(LocalHost(debian.root))["next_kernel"] == NEW


def test_without_pins_september_is_named_before_and_after_the_reboot(debian: Debian) -> None:
    debian.september()
    debian.apt("upgrade", "--with-new-pkgs")
    [known, told] = problems(debian)
    assert known.text.startswith(f"after the next boot: kernel {NEW} without kho=off keeps about 9.3 GiB")
    assert 'boot an installed 6.17 kernel, or declare boot_parameters: {kho: "off"}' in known.hint
    assert told.text.startswith(f"the next boot starts kernel {NEW} instead of {OLD}, installed on 20")
    assert told.text.endswith(" by apt-get -q upgrade --with-new-pkgs")
    (debian.root / "proc/sys/kernel/osrelease").write_text(f"{NEW}\n")
    [known] = problems(debian)
    assert (known.kind, known.text.startswith(f"kernel {NEW} without kho=off")) == ("unhealthy", True)


def problems(debian: Debian) -> list[Problem]:
    """Return what the status of a group's host says of this software: what the kernel line holds is left out."""
    host = LocalHost(debian.root)
    (debian.root / "proc/cmdline").write_text("ro quiet\n")
    found = {**software.read(host), "updates": [], "moved": [each._asdict() for each in apt.moved(host)]}
    return about_software(facts.Software.of_json(json.dumps(found)))


def test_a_package_that_was_upgraded_by_hand_is_not_downgraded(debian: Debian) -> None:
    pin(debian)
    debian.september()
    debian.apt("install", f"docker-ce={NEWER['docker-ce']}")
    debian.apt("dist-upgrade")
    assert debian.versions()["docker-ce"] == NEWER["docker-ce"]


def test_what_the_pins_withhold(debian: Debian) -> None:
    pinned = pin(debian)
    assert apt.updates(LocalHost(debian.root), pinned) == []
    debian.september()
    found = {each["package"]: each for each in apt.updates(LocalHost(debian.root), pinned)}
    assert all(each["security"] for each in found.values())
    assert {name: each["version"] for name, each in found.items()} == {
        name: version for name, version in NEWER.items() if name in INSTALLED
    }


LOG: Final = """\
gone (1, 2)
End-Date: 2026-09-01  06:00:00

Start-Date: 2026-09-12  06:11:02
Commandline: apt upgrade --token hf_abcdefghijkl
Requested-By: milo (1000)
Install: linux-image-7.0.0-1019-nvidia:arm64 (7.0.0-1019.19, automatic), bash:arm64 (5.2-1)
Upgrade: docker-ce:arm64 (5:29.2.1-1, 5:29.3.0-1), linux-image-nvidia-hwe-24.04:arm64 (6.17.0-1031.31, 7.0.0-1019.19)
Remove: nvidia-container-toolkit:arm64 (1.19.0-1)
End-Date: 2026-09-12  06:12:40

Start-Date: 2026-09-13  07:00:00
Downgrade: docker-ce:arm64 (5:29.3.0-1, 5:29.2.1-1)
"""


@pytest.mark.parametrize("rotated", [False, True])
def test_what_apt_changed_is_read_from_its_log(tmp_path: Path, *, rotated: bool) -> None:
    place = tmp_path / "var/log/apt"
    place.mkdir(parents=True)
    if rotated:
        (place / "history.log.1.gz").write_bytes(gzip.compress(LOG.encode()))
    else:
        (place / "history.log").write_text(LOG)
    at, command = "2026-09-12 06:11:02", "apt upgrade --token ***"
    assert apt.moved(LocalHost(tmp_path)) == [
        (f"linux-image-{NEW}", None, "7.0.0-1019.19", at, command),
        ("docker-ce", "5:29.2.1-1", "5:29.3.0-1", at, command),
        (META, "6.17.0-1031.31", "7.0.0-1019.19", at, command),
        ("nvidia-container-toolkit", "1.19.0-1", None, at, command),
        ("docker-ce", "5:29.3.0-1", "5:29.2.1-1", "2026-09-13 07:00:00", "an unnamed program"),
    ]


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    place = tmp_path / "var/log/apt"
    place.mkdir(parents=True)
    (place / "history.log").write_text(LOG + "a" * (2 << 20) + "\n\n" + LOG.partition("\n\n")[2])
    assert len(apt.moved(LocalHost(tmp_path))) == 5


def test_a_host_without_apt_has_no_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert apt.updates(LocalHost(tmp_path), ["bash"]) == []
    assert apt.moved(LocalHost(tmp_path)) == []
    found = software.read(LocalHost(tmp_path))
    assert {each for each in found.values() if not isinstance(each, (dict, list))} == {None}


def test_apt_reads_the_blacklist_of_unattended_upgrades(debian: Debian) -> None:
    pin(debian)
    told = debian.run("apt-config", "dump")
    assert 'Unattended-Upgrade::Package-Blacklist:: "^linux-image-6\\.17\\.0-1031-nvidia$";' in told
