"""The software of a host that belongs together: read from real files of dpkg and APT, kept by real preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.host import apt, software
from sparkiac.host.local import LocalHost
from sparkiac.render import hosts
from tests.host.debian import INSTALLED, META, NEW, NEWER, OLD, OTHERS, Debian

if TYPE_CHECKING:
    from pathlib import Path


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


def test_apt_reads_the_blacklist_of_unattended_upgrades(debian: Debian) -> None:
    pin(debian)
    told = debian.run("apt-config", "dump")
    assert 'Unattended-Upgrade::Package-Blacklist:: "^linux-image-6\\.17\\.0-1031-nvidia$";' in told
