"""Install the packages of a kernel beside those that run, and remove them again."""

from __future__ import annotations

from collections.abc import Iterable

from .. import software
from ..local import LocalHost
from . import checks, grub

QUIET = ("--yes", "--no-install-recommends")


class InstallError(RuntimeError):
    """APT or dpkg failed."""


def beside(machine: LocalHost, own: dict[str, str], following: dict[str, str]) -> None:
    """Install the packages of a kernel, and download those that follow it, so that the end needs no network."""
    if not own:
        return
    apt(machine, "install", *QUIET, *checks.words(own))
    machine.run("apt-mark", "manual", *own)
    if following:
        apt(machine, "install", "--download-only", *QUIET, "--allow-downgrades", *checks.words(following))
    grub.update(machine)


def follow(machine: LocalHost, packages: dict[str, str]) -> None:
    """Install the packages that have one version at a time, as far as they have another one."""
    there = software.installed(machine)
    if left := {name: each for name, each in packages.items() if there.get(name) != each}:
        apt(machine, "install", *QUIET, "--allow-downgrades", *checks.words(left))


def apt(machine: LocalHost, *words: str) -> None:
    """Run apt-get, after the end of what was interrupted; raise InstallError if it fails."""
    machine.run("dpkg", "--configure", "-a")
    done = machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *words)
    if done.code:
        raise InstallError(f"apt-get {words[0]}: {' '.join((done.errors or done.output).split())}")


def purge(machine: LocalHost, names: Iterable[str]) -> None:
    """Remove packages, whatever state a power cut has left them in; raise InstallError if that fails."""
    done = machine.run("dpkg", "--purge", *names)
    if done.code:
        raise InstallError(f"dpkg --purge: {' '.join(done.errors.split())}")
