"""The read-ahead of a real disk while a unit loads: a loop device, in a mount namespace that ends with the test."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.conftest import ROOT
from tests.host.test_load_memory import Machine, loader

TOOLS = ("losetup", "mkfs.ext4", "mount", "unshare")
MOUNT = """
set -eu
truncate -s 8M disk
mkfs.ext4 -q disk
mkdir -p sys srv/models
mount --bind /sys sys
mount -o loop disk srv/models
exec "$@"
"""


def steps(root: Path, fault: str) -> tuple[str, str, str]:
    """Load the model store of `root`; return the read-ahead before, during and after it."""
    machine = Machine(root)
    machine.plan("big", sysctls=[])
    [file] = loader.read_ahead(machine, loader.read_guard(machine, "big"))
    ahead = machine.path(file)
    before = ahead.read_text().strip()
    if fault == "killed":
        child = os.fork()
        if child == 0:
            loader.begin(machine, "big")
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
    elif fault == "failed":
        machine.refuse = "systemd-run"
        assert loader.main(["begin", "big"], machine) == 1
    else:
        loader.begin(machine, "big")
    during = ahead.read_text().strip()
    loader.main(["end", "big"], machine)
    return before, during, ahead.read_text().strip()


@pytest.mark.parametrize(("fault", "changed"), [("none", True), ("killed", True), ("failed", False)])
def test_the_read_ahead_of_a_disk_changes_and_is_restored(tmp_path: Path, fault: str, *, changed: bool) -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, TOOLS)) or not Path("/dev/loop-control").exists():
        pytest.skip(f"needs root, a loop device, {', '.join(TOOLS)}")
    run = [sys.executable, "-m", "tests.host.test_load_memory_disk", str(tmp_path), fault]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", MOUNT, "sh", *run],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, during, after = json.loads(done.stdout)
    assert (during, after) == ("8" if changed else before, before)
    assert before != "8"


if __name__ == "__main__":
    print(json.dumps(steps(Path(sys.argv[1]), sys.argv[2])))  # noqa: T201
