"""A host whose driver, container toolkit and Docker move: real apt, dpkg and dpkg-deb.

Stand-ins: the boot, which loads the module of the driver that is installed then, and the preflight and the speed test,
which fail with the versions that a test names. A unit does not start while `software.hold` forbids it.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Final

from sparkiac.host import software
from sparkiac.host.kernel import packages, trial
from tests.host.debian import DRIVER, INSTALLED, NEWER
from tests.host.kernels import Machine
from tests.host.switching import KilledError, Result, Unit

if TYPE_CHECKING:
    from tests.host.debian import Debian

REAL: Final = {"apt-get", "apt-mark", "grub-editenv", "dpkg", "dpkg-deb"}
TOOLS: Final = ("nvidia-container-toolkit", "docker-ce")
DRIVERS: Final = ("nvidia-driver-580-open", "libnvidia-compute-580")
BEFORE: Final = {name: INSTALLED[name] for name in (*DRIVERS, *TOOLS)}
DOCKER_SET: Final = BEFORE | {name: NEWER[name] for name in TOOLS}
"""Pins with another container toolkit and Docker."""
DRIVER_SET: Final = BEFORE | {name: NEWER[name] for name in (*DRIVERS, *TOOLS)}
"""Pins with another driver too."""


class Packaged(Machine):
    """The host."""

    def __init__(self, debian: Debian) -> None:
        """Boot it with the packages of before September."""
        self.fails: set[str] = set()
        """Versions of Docker with which the preflight fails."""
        self.slow: set[str] = set()
        """Versions of Docker with which answers are slow."""
        self.breaks: set[str] = set()
        """Names of packages whose new version cannot be installed."""
        self.stale: str | None = None
        """Version of the module on the disk, if it is not that of the libraries."""
        super().__init__(debian)

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Run a command of the host: the real one where there is one."""
        at = next((at for at, word in enumerate(argv) if at and "=" not in word), 0) if argv[0] == "env" else 0
        program = argv[at]
        if program not in REAL:
            return super().run(*argv)
        root = (f"--root={self.root}", "--force-not-root") if program == "dpkg" else ()
        words = [*argv[: at + 1], *root, *argv[at + 1 :]]
        if "--install" in words:
            self.cut_inside(words)
        self.count()
        if "--install" in words and any(f"/new/{name}_" in word for name in self.breaks for word in words):
            return Result(1, "", "post-installation script returned error exit status 1\n")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    def cut_inside(self, words: list[str]) -> None:
        """If the power is lost here, unpack a part of the packages first, and configure none."""
        if self.operations + 1 == self.kill_at:
            start = words.index("--install")
            files = words[start + 1 :]
            half = [*words[:start], "--unpack", *files[: (len(files) + 1) // 2]]
            subprocess.run(half, capture_output=True, check=True)

    def gate(self, *argv: str) -> Any:  # noqa: ANN401
        """Answer as preflight and the speed test."""
        docker = software.installed(self).get("docker-ce")
        if "speed" in argv:
            return Result(0, "20.0\n" if docker in self.slow else "40.0\n", "")
        checks = [{"state": "FAIL", "lines": ["FAIL     HST002  docker: it does not work"]}] * (docker in self.fails)
        return Result(len(checks), json.dumps({"checks": checks}), "")

    def modinfo(self, *argv: str) -> Any:  # noqa: ANN401
        """Return a field of the module on the disk."""
        return Result(0, f"{self.module()}\n", "") if argv[4] == "version" else super().modinfo(*argv)

    def module(self) -> str:
        """Return the version of the module on the disk."""
        there = software.installed(self).get("nvidia-driver-580-open", DRIVER)
        return self.stale or software.upstream(there)

    def start(self, name: str, unit: Unit) -> None:
        """Start a unit, if its start step allows it."""
        if software.hold(self):
            unit.active, unit.runs = "failed", None
            return
        super().start(name, unit)

    def reboot(self) -> None:
        """Lose the power; after a reboot that the host asked for, the power is still to be lost."""
        left = None if self.dead else self.kill_at
        super().reboot()
        self.kill_at = left

    def power(self) -> str:
        """Lose the power or reboot, and start again; return the kernel that runs."""
        self.reboot()
        self.rebooting = False
        kernel, options = self.chosen()
        self.started(kernel, options)
        loaded = f"NVRM version: NVIDIA UNIX Open Kernel Module  {self.module()}  Release"
        self.write("proc/driver/nvidia/version", loaded)
        packages.restore(self)
        if not self.rebooting:
            self.boot()
            self.work()
        return self.power() if self.rebooting else kernel

    def work(self) -> None:
        """Do what the unit does that playbook and boot start."""
        trial.settle(self)
        packages.settle(self)

    def move(self, pinned: dict[str, str]) -> str:
        """Do what the playbook does until the change has ended; return its phase."""
        if packages.begin(self, pinned, ["GpuHot"]) is None:
            return "nothing"
        self.work()
        if self.rebooting:
            self.power()
        found = packages.read(self)
        assert found is not None
        return found.phase

    def of_set(self, *sets: dict[str, str]) -> dict[str, str]:
        """Assert that the installed packages are exactly those of one of the sets; return it."""
        there = {name: software.installed(self).get(name) for name in BEFORE}
        assert there in sets, there
        return {name: str(version) for name, version in there.items()}


def cut(host: Packaged, pinned: dict[str, str], at: int) -> bool:
    """Take the power away before, or for dpkg within, a command of a change; return False if it has fewer commands."""
    host.operations, host.kill_at = 0, at
    try:
        host.move(pinned)
    except KilledError:
        host.power()
        return True
    return False
