"""A newcomer's machine on the control station: Debian with Python, pipx, make, Git, curl and ssh, and nothing else.

Its user has a login on the hosts and a terminal. No package index can be reached: a folder of wheels stands for it,
with exactly the versions of requirements.lock.
"""

from __future__ import annotations

import hashlib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, NamedTuple, Self

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT
from tests.e2e.bed import rootfs
from tests.e2e.bed.shell import PATH, locked, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from tests.e2e.bed import Bed

PACKAGES = ("ca-certificates", "curl", "git", "make", "openssh-client", "pipx", "python3", "python3-venv")
UNSAFE_IO = "--dpkgopt=force-unsafe-io"
"""Packages are not synced to disk one by one."""
PYTHON = "3.13"
"""That of the hosts' Debian, and so of this machine."""
USER = "spark"
"""The same name as on the hosts."""
HOME = f"home/{USER}"
PROMPT = re.compile(r"\[\[(\d+)\]\]\Z")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
ENTER = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"
mount -t proc proc "$4/proc"
mount --rbind /dev "$4/dev"
mount --bind /etc/hosts "$4/etc/hosts"
root=$4
shift 4
exec setsid --ctty --wait chroot --userspec=spark "$root" "$@"
"""
"""As root in namespaces of its own, which end with the shell: the machine, and the user's shell on it."""


class Done(NamedTuple):
    """What a command line did."""

    status: int
    output: str
    seconds: float


def root() -> Path:
    """Return the machine's file system, building it when nobody has built this one yet (two minutes)."""
    key = hashlib.sha256(" ".join((rootfs.SUITE, *PACKAGES)).encode()).hexdigest()[:12]
    found = rootfs.cache() / f"newcomer-{key}"
    done = found.with_suffix(".done")
    with locked(rootfs.cache() / "newcomer.lock"):
        if not done.exists():
            shutil.rmtree(found, ignore_errors=True)
            words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", UNSAFE_IO]
            environment = {**os.environ, "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive"}
            run([*words, rootfs.SUITE, found, rootfs.mirror()], timeout=1200, env=environment)
            run(["chroot", found, "useradd", "--create-home", "--shell", "/bin/bash", USER])
            done.touch()
    return found


def wheels(own: Path) -> Path:
    """Return a folder with the wheels that this one needs, in the versions of requirements.lock."""
    lock = (ROOT / "requirements.lock").read_text()
    found = rootfs.cache() / f"wheels-{hashlib.sha256((PYTHON + lock).encode()).hexdigest()[:12]}"
    done = found.with_suffix(".done")
    with locked(rootfs.cache() / "wheels.lock"):
        if not done.exists():
            shutil.rmtree(found, ignore_errors=True)
            found.mkdir()
            constraints = found / "constraints.txt"
            constraints.write_text("".join(f"{each}\n" for each in pins(lock)))
            words = ("--only-binary=:all:", f"--python-version={PYTHON}", f"--constraint={constraints}")
            command = [sys.executable, "-m", "pip", "download", "--quiet", f"--dest={found}", *words, "pip", own]
            fetched = subprocess.run(command, capture_output=True, text=True, check=False)
            if fetched.returncode:
                pytest.skip(f"needs packages for Python {PYTHON}: {fetched.stderr[-300:]}")
            done.touch()
    return found


def pins(lock: str) -> Iterator[str]:
    """Return the lock's versions for the machine's Python, without their hashes."""
    for line in re.findall(r"^[A-Za-z0-9].*", lock, re.MULTILINE):
        found = Requirement(line.removesuffix("\\").strip())
        python = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0"}
        if found.marker is None or found.marker.evaluate(python):
            yield f"{found.name}{found.specifier}"


class Newcomer:
    """The user's shell. What is typed runs as in a terminal."""

    def __init__(self, bed: Bed, own: Path, *, environment: Mapping[str, str]) -> None:
        """Set the machine up; `own` is the wheel of sparkiac that lies in the user's home."""
        self.wheel = own
        self._bed = bed
        self._folder = bed.directory / "newcomer"
        home = self._folder / "upper" / HOME
        shutil.copytree(wheels(own), home / "index")
        shutil.copy(own, home)
        shutil.copytree(bed.ssh_key.parent, home / ".ssh")
        (home / ".ssh/id").rename(home / ".ssh/id_ed25519")
        (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
        for name in ("work", "root"):
            (self._folder / name).mkdir()
        run(["chown", "--recursive", "1000:1000", home])
        self._environment = {
            "HOME": f"/{HOME}", "PATH": f"/{HOME}/.local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm",
            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"/{HOME}/index", "PS1": "[[$?]]", "PS2": "", **environment,
        }  # fmt: skip

    def __enter__(self) -> Self:
        """Open the terminal."""
        self._terminal, far = pty.openpty()
        settings = termios.tcgetattr(far)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(far, termios.TCSANOW, settings)
        overlay = [root(), *(self._folder / name for name in ("upper", "work", "root"))]
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        shell = ["env", "-i", f"--chdir=/{HOME}", *variables, "bash", "--norc", "--noprofile", "--noediting", "-i"]
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ENTER, "sh", *overlay]
        argv = self._bed.inside([*words, *shell])
        self._shell = subprocess.Popen(argv, stdin=far, stdout=far, stderr=far, start_new_session=True)
        os.close(far)
        self._until_prompt({}, timeout=60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; everything that was started in it ends."""
        self._shell.kill()
        self._shell.wait()
        os.close(self._terminal)

    def types(self, line: str, *, answers: Mapping[str, str] | None = None, timeout: float = 900) -> Done:
        """Type a command line, and what it asks for: end of a question → answer."""
        began = time.monotonic()
        os.write(self._terminal, f"{line}\n".encode())
        status, output = self._until_prompt(dict(answers or {}), timeout=timeout)
        return Done(status, output, time.monotonic() - began)

    def _until_prompt(self, answers: dict[str, str], *, timeout: float) -> tuple[int, str]:
        end, said = time.monotonic() + timeout, b""
        while time.monotonic() < end:
            if select.select([self._terminal], [], [], 1)[0]:
                said += os.read(self._terminal, 65536)
            text = COLOURS.sub("", said.decode(errors="replace"))
            if found := PROMPT.search(text):
                return int(found[1]), text[: found.start()]
            for question in [each for each in answers if text.endswith(each)]:
                os.write(self._terminal, f"{answers.pop(question)}\n".encode())
        pytest.fail(f"no prompt after {timeout:.0f} s:\n{COLOURS.sub('', said.decode(errors='replace'))}")
