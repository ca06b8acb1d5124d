"""A real APT with its own root directory, and a real repository of tiny packages with the names of a Spark's."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

OLD: Final = "6.17.0-1031-nvidia"
NEW: Final = "7.0.0-1019-nvidia"
META: Final = "linux-image-nvidia-hwe-24.04"
DRIVER: Final = "580.173.02-0ubuntu0.24.04.1"
INSTALLED: Final = {
    f"linux-image-{OLD}": "6.17.0-1031.31",
    f"linux-headers-{OLD}": "6.17.0-1031.31",
    f"linux-modules-nvidia-fs-{OLD}": "6.17.0-1031.31",
    META: "6.17.0-1031.31",
    "nvidia-driver-580-open": DRIVER,
    "libnvidia-compute-580": DRIVER,
    "nvidia-container-toolkit": "1.19.0-1",
    "docker-ce": "5:29.2.1-1~ubuntu.24.04~noble",
}
"""Packages that belong together, as a host has them before the upgrade of September."""
OTHERS: Final = {"bash": "5.2-1", "linux-firmware": "20260301-1", "nvidia-prime": "0.8.17"}
NEWER: Final = {
    META: "7.0.0-1019.19",
    "nvidia-driver-580-open": "580.178.04-0ubuntu0.24.04.1",
    "libnvidia-compute-580": "580.178.04-0ubuntu0.24.04.1",
    "nvidia-container-toolkit": "1.19.1-1",
    "docker-ce": "5:29.3.0-1~ubuntu.24.04~noble",
    "bash": "5.2-2",
    "linux-firmware": "20260901-1",
    "nvidia-prime": "0.8.18",
}
"""What the repository has since."""
DEPENDS: Final = {(META, NEWER[META]): f"linux-image-{NEW}"}


class Debian:
    """A root directory with APT and dpkg, whose repository is a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make both, with the packages of before September."""
        self.root, self.pool = folder / "root", folder / "pool" / "noble-security"
        for name in ("etc/apt/preferences.d", "etc/apt/apt.conf.d", "var/lib/dpkg/info", "var/lib/dpkg/updates",
                     "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt"):  # fmt: skip
            (self.root / name).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()
        self.pool.mkdir(parents=True)
        (self.root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] copy:{self.pool.parent} noble-security/\n")
        config = folder / "apt.conf"
        config.write_text(
            f'Dir "{self.root}"; Dir::State::status "{self.root}/var/lib/dpkg/status"; Debug::NoLocking "1";\n'
            f'APT::Sandbox::User "root"; APT::Get::Assume-Yes "1"; Dir::Log "{self.root}/var/log/apt";\n'
            f'DPkg::Options {{ "--root={self.root}"; "--force-not-root"; "--force-unsafe-io"; }};\n'
            f'DPkg::Options:: "--log={self.root}/dpkg.log";\n'
        )
        monkeypatch.setenv("APT_CONFIG", str(config))
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
        self.publish(INSTALLED | OTHERS)
        self.apt("install", *INSTALLED, *OTHERS)

    def publish(self, packages: dict[str, str]) -> None:
        """Add packages to the repository, and let APT read it."""
        for name, version in packages.items():
            self._build(name, version)
        listed = "".join(_entry(path) for path in sorted(self.pool.glob("*.deb")))
        (self.pool / "Packages").write_text(listed)
        self.apt("update")

    def september(self) -> None:
        """Publish what came in September."""
        self.publish({f"linux-image-{NEW}": "7.0.0-1019.19", **NEWER})

    def apt(self, *words: str) -> str:
        """Run apt-get."""
        return self.run("apt-get", "-q", *words)

    def run(self, *words: str) -> str:
        """Run a command with this APT."""
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def versions(self) -> dict[str, str]:
        """Return the installed packages, as dpkg tells them."""
        told = self.run("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f=${Package} ${Version}\\n")
        return dict(line.split() for line in told.splitlines())

    def _build(self, name: str, version: str) -> None:
        tree = self.pool.parent.parent / "built" / f"{name}_{version}"
        (tree / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: test <t@example.org>\n"
        depends = DEPENDS.get((name, version))
        control += f"Depends: {depends}\n" if depends else ""
        (tree / "DEBIAN/control").write_text(f"{control}Description: a stand-in\n")
        for path in files_of(name):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(f"{name} {version}\n")
        self.run("dpkg-deb", "--build", "--root-owner-group", str(tree), str(self.pool / f"{name}_{version}.deb"))


def files_of(package: str) -> list[str]:
    """Return the files of a package: those of a kernel, and none of the others. A real initrd is made on the host."""
    found = re.fullmatch(r"linux-image-(\d.+)", package)
    names = ("boot/vmlinuz-{}", "boot/initrd.img-{}", "lib/modules/{}/modules.dep")
    return [name.format(found[1]) for name in names] if found else []


def _entry(path: Path) -> str:
    control = subprocess.run(["dpkg-deb", "-f", str(path)], capture_output=True, text=True, check=True).stdout
    raw = path.read_bytes()
    more = f"Filename: noble-security/{path.name}\nSize: {len(raw)}\nSHA256: {hashlib.sha256(raw).hexdigest()}\n"
    return f"{control.strip()}\n{more}\n"
