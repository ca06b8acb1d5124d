"""With a complete lock nothing reaches for the network: no client is loaded, and the kernel sees no socket."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.lock.upstream import Upstream

    Cli = Callable[..., Outcome]

LOADED = """\
import json, sys
from sparkiac.console import run
code = run(sys.argv[1:])
print("\\n" + json.dumps([int(code), sorted(sys.modules)]))
"""
NETWORK = ("httpx2", "huggingface_hub", "ssl", "http.client", "urllib.request")
COMMANDS = (["lock", "lab.yaml"], ["lock", "lab.yaml", "--check"], ["lock", "lab.yaml", "--dry-run"])
OTHERS = (["check", "lab.yaml"], ["plan", "lab.yaml"], ["generate", "lab.yaml"])


@pytest.fixture
def complete(upstream: Upstream, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lock everything, and then take the network away."""
    assert cli("lock", "lab.yaml").code == 0
    for name in ("HF_ENDPOINT", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    return upstream.folder


def loaded(*arguments: str, cwd: Path) -> tuple[int, set[str]]:
    """Run a command; give how it ended and what it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], cwd=cwd, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_with_a_complete_lock_no_client_is_loaded(complete: Path, arguments: list[str]) -> None:
    code, modules = loaded(*arguments, cwd=complete)
    assert code == 0
    assert [name for name in modules if name.startswith(("sparkiac.upstream", *NETWORK))] == []


def test_a_check_of_a_lock_that_is_not_there_loads_none_either(complete: Path) -> None:
    (complete / "lab.lock.yaml").unlink()
    code, modules = loaded("lock", "lab.yaml", "--check", cwd=complete)
    assert code == 3
    assert [name for name in modules if name.startswith(("sparkiac.upstream", *NETWORK))] == []


def traced(*arguments: str, cwd: Path) -> tuple[int, str]:
    """Run a command under strace; give how it ended and what it asked of the kernel's network."""
    log = cwd.parent / "trace"
    argv = ["strace", "-f", "-qq", "-e", "trace=network", "-e", "signal=none", "-o", str(log)]
    done = subprocess.run(
        [*argv, sys.executable, "-m", "sparkiac", *arguments],
        cwd=cwd,
        env=dict(os.environ),
        capture_output=True,
        check=False,
    )
    return done.returncode, log.read_text()


@pytest.mark.parametrize("arguments", [*COMMANDS, *OTHERS], ids=" ".join)
def test_the_kernel_sees_no_socket(complete: Path, arguments: list[str]) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    assert traced(*arguments, cwd=complete) == (0, "")


def test_the_trace_would_show_one(complete: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    code, calls = traced("lock", "lab.yaml", "--upgrade", cwd=complete)
    assert code == 6
    assert "socket(" in calls


def test_a_command_reads_no_metadata_of_installed_packages(complete: Path) -> None:
    """Pydantic searches them for plugins, which takes longer than reading an inventory."""
    command = [sys.executable, "-X", "importtime", "-m", "sparkiac", "check", "lab.yaml"]
    done = subprocess.run(command, cwd=complete, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pydantic" in imported
    assert imported.isdisjoint({"importlib.metadata", "email.message"})
