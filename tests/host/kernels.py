"""A host that boots kernels: real apt, dpkg and grub-editenv; the boot, update-grub, modinfo and systemd are stand-ins.

The stand-in for update-grub writes what Ubuntu's scripts write for the kernels in /boot, and runs ours in /etc/grub.d.
The boot chooses the entry as GRUB does: the one for the next boot, which it forgets, or else the saved one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sparkiac.host.kernel import grub, trial
from tests.host.debian import DEPENDS, META, NEW, NEWER, OLD, Debian
from tests.host.switching import Host, Result, Unit, generation, switch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

LOADED: Final = "580.173.02"
UUID: Final = "6f3c"
SETTINGS: Final = 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\n'
HEADER: Final = 'if [ "${next_entry}" ] ; then\n   set default="${next_entry}"\nelse\n   set default="%s"\nfi\n'
ENTRY: Final = """\
\tmenuentry 'Ubuntu, with Linux {0}' --class ubuntu $menuentry_id_option 'gnulinux-{0}-{1}-{2}' {{
\t\trecordfail
\t\tif [ x$grub_platform = xxen ]; then insmod xzio; fi
\t\tlinux\t/boot/vmlinuz-{0} root=UUID={2} ro  {3}
\t\tinitrd\t/boot/initrd.img-{0}
\t}}
"""
FIRST: Final = generation({"a": "a 1", "b": "b 1"})
SET: Final = {f"linux-image-{NEW}": "7.0.0-1019.19", META: NEWER[META]}
"""The kernel of a set that is pinned after September."""


def missing() -> str:
    """Return which real program is missing here; empty if none is."""
    names = ("apt-get", "dpkg", "grub-editenv")
    return ", ".join(name for name in names if shutil.which(name) is None)


class Machine(Host):
    """The host."""

    def __init__(self, debian: Debian) -> None:
        """Boot it with the kernel of before September, and let its units serve."""
        super().__init__(debian.root)
        self.debian = debian
        self.speeds = {OLD: 40.0, NEW: 39.0}
        self.preflight_fails: set[str] = set()
        """Kernels and parameters with which the preflight fails."""
        self.hangs: set[str] = set()
        """Kernels and parameters that do not start: somebody takes the power away."""
        self.modules = {kernel: {"version": LOADED, "signer": "Canonical"} for kernel in (OLD, NEW)}
        self.filesystem = "ext2"
        self.forgets = True
        """Whether GRUB can write its environment."""
        self.rebooting = False
        self.boots: list[str] = []
        for name in ("etc/grub.d", "etc/default/grub.d", "boot/grub", "usr/local/lib/sparkiac"):
            self.path(name).mkdir(parents=True, exist_ok=True)
        self.write("etc/default/grub", SETTINGS)
        self.write("proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX Open Kernel Module  {LOADED}  Release")
        subprocess.run(["grub-editenv", str(self.path(grub.ENVIRONMENT)), "create"], check=True)
        self.update_grub()
        self.started(OLD, "ro quiet splash")
        switch(self, FIRST, "first")

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Run a command of the host: the real one where there is one."""
        program = argv[2] if argv[0] == "env" else argv[0]
        if program in {"apt-get", "apt-mark", "grub-editenv", "dpkg"}:
            self.count()
            root = (f"--root={self.root}", "--force-not-root") if program == "dpkg" else ()
            done = subprocess.run([*argv[:1], *root, *argv[1:]], capture_output=True, text=True, check=False)
            return Result(done.returncode, done.stdout, done.stderr)
        stand_in = getattr(self, program.replace("-", "_"), None) if program != "nft" else None
        if program == "python3" and (argv[1].endswith("preflight") or "speed" in argv):
            stand_in = self.gate
        if argv[:2] == ("systemctl", "reboot"):
            stand_in = self.reboots
        if stand_in is None or (program == "systemctl" and argv[1] != "reboot"):
            return super().run(*argv)
        self.count()
        return stand_in(*argv)

    def gate(self, *argv: str) -> Any:  # noqa: ANN401
        """Answer as preflight and the speed test."""
        kernel = trial.running(self)
        if "speed" in argv:
            return Result(0, f"{self.speeds[kernel]}\n", "")
        failed = bool({kernel, *self.read("proc/cmdline").split()} & self.preflight_fails)
        checks = [{"state": "FAIL", "lines": ["FAIL     HST015  software: memory that cannot be pinned"]}] * failed
        return Result(int(failed), json.dumps({"checks": checks}), "")

    def reboots(self, *_argv: str) -> Any:  # noqa: ANN401
        """Remember that the host asked for a reboot."""
        self.rebooting = True
        return Result(0, "", "")

    def grub_probe(self, _program: str, target: str, _path: str) -> Any:  # noqa: ANN401
        """Name the file system."""
        return Result(0, f"{self.filesystem if target.endswith('fs') else ''}\n", "")

    def modinfo(self, *argv: str) -> Any:  # noqa: ANN401
        """Return a field of the module of the GPU."""
        field, kernel = argv[4], argv[6]
        return Result(0, f"{self.modules[kernel].get(field, '')}\n", "")

    def sync(self, *_argv: str) -> Any:  # noqa: ANN401
        """Do nothing."""
        return Result(0, "", "")

    def update_grub(self, *_argv: str) -> Any:  # noqa: ANN401
        """Write the menu: the newest kernel first, then all of them below a menu, then what the scripts print."""
        texts = [self.path("etc/default/grub"), *sorted(self.path("etc/default/grub.d").glob("*.cfg"))]
        sourced = "".join(f". '{each}'; " for each in texts) + 'echo "$GRUB_DEFAULT|$GRUB_CMDLINE_LINUX_DEFAULT"'
        done = subprocess.run(["sh", "-c", sourced], capture_output=True, text=True, check=True)
        default, words = done.stdout.strip().split("|")
        kernels = sorted((each.name[8:] for each in self.path("boot").glob("vmlinuz-*")), reverse=True)
        menu = HEADER % ("${saved_entry}" if default == "saved" else default)
        simple = ENTRY.format(kernels[0], "simple", UUID, words)
        menu += simple.replace(f"gnulinux-{kernels[0]}-simple", "gnulinux-simple")
        menu += f"submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-{UUID}' {{\n"
        for kernel in kernels:
            menu += ENTRY.format(kernel, "advanced", UUID, words) + ENTRY.format(kernel, "recovery", UUID, "recovery")
        menu += "}\n"
        for script in sorted(self.path("etc/grub.d").glob("*")):
            menu += subprocess.run([str(script)], capture_output=True, text=True, check=True).stdout
        new = self.path(f"{grub.CONFIG}.new")
        new.write_text(menu)
        new.replace(self.path(grub.CONFIG))
        return Result(0, "", "")

    def started(self, kernel: str, options: str) -> None:
        """Show that a kernel runs."""
        self.boots.append(kernel)
        self.write("proc/sys/kernel/osrelease", f"{kernel}\n")
        self.write("proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{kernel} {options}\n")
        self.write("proc/sys/kernel/random/boot_id", f"boot-{len(self.boots)}\n")

    def chosen(self) -> tuple[str, str]:
        """Return what GRUB starts: kernel and options."""
        environment = grub.environment(self)
        wanted = environment.get("next_entry") or environment.get("saved_entry")
        if self.forgets and environment.get("next_entry"):
            grub.remember(self, "next_entry", "")
        reads_saved = grub.READS_SAVED in self.read(grub.CONFIG)
        menu = {each.name: each for each in grub.entries(self)}
        found = menu.get(wanted or "") if reads_saved or environment.get("next_entry") else None
        found = found or max(menu.values(), key=lambda each: each.kernel)  # the first entry: the newest kernel
        line = next(each for each in found.body if grub.LINUX.match(each))
        return found.kernel, " ".join(line.split()[2:])

    def saved(self) -> tuple[Path, dict[str, Unit]]:
        """Copy the disk."""
        copy = self.root.parent / "saved"
        shutil.copytree(self.root, copy, symlinks=True)
        return copy, {name: replace(unit) for name, unit in self.units.items()}

    def restore(self, saved: tuple[Path, dict[str, Unit]]) -> None:
        """Bring a copy of the disk back."""
        shutil.rmtree(self.root)
        shutil.copytree(saved[0], self.root, symlinks=True)
        self.units = {name: replace(unit) for name, unit in saved[1].items()}
        self.dead, self.kill_at = False, None

    def power(self) -> str:
        """Lose the power or reboot, and start again; return the kernel that runs. A kernel that hangs is reset."""
        self.reboot()
        self.rebooting = False
        kernel, options = self.chosen()
        while {kernel, *options.split()} & self.hangs:
            self.boots.append(f"{kernel} hangs")
            kernel, options = self.chosen()
        assert all(self.path(f"{name}-{kernel}").exists() for name in ("boot/vmlinuz", "boot/initrd.img")), kernel
        self.started(kernel, options)
        self.boot()
        trial.settle(self)
        return self.power() if self.rebooting else kernel

    def converge(self, packages: dict[str, str] = SET, parameters: Sequence[str] = ()) -> str:
        """Do what the playbook does until there is nothing to do; return the kernel that runs."""
        for _ in range(3):
            found = trial.begin(self, packages, [], parameters)
            if found is None:
                break
            self.power()
            ended = trial.read(self).trial
            if ended is None or ended.phase == trial.FAILED:
                break
        return trial.running(self)


def made(debian: Debian, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a host whose APT knows the kernel of September."""
    monkeypatch.setenv("DEBIAN_FRONTEND", "noninteractive")
    debian.september()
    return Machine(debian)


def depends(debian: Debian, name: str, version: str, on: str) -> None:
    """Publish a package that depends on another one."""
    DEPENDS[name, version] = on
    try:
        debian.publish({name: version})
    finally:
        del DEPENDS[name, version]
