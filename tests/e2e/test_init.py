"""`sparkiac init --from-host` over the real ssh of a real host, and the repository that it makes, all the way.

The host has a stand-in for nvidia-smi, the memory of a DGX Spark in its /proc/meminfo, and no RDMA device. Links of a
real one: not verified on hardware.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.commands.test_init import LAUNCH, holds_what_its_readme_says, run
from tests.lock import conftest

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.e2e.bed import Bed
    from tests.lock.upstream import Upstream

pytestmark = pytest.mark.deep

registry, upstream = conftest.registry, conftest.upstream
"""Fixtures: a real registry, the model hub's stand-in."""
HOST = "spark-01"


def sparkiac(bed: Bed, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the control station, with an ssh that knows the bed's key and hosts."""
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh {" ".join(bed.ssh_options)} "$@"\n')
    wrapper.chmod(0o755)
    env = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    return bed.run([sys.executable, "-m", "sparkiac", *words], cwd=folder, env=env, check=False)


def test_a_host_says_what_it_is_and_its_repository_passes_its_own_check(
    bed: Bed, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "vllm serve acme/tiny --max-model-len 4096 --gpu-memory-utilization 0.3 --max-num-seqs 4"
    (tmp_path / "run.sh").write_text(LAUNCH.format(image=upstream.image("vllm"), words=words))
    address = bed.hosts[HOST].address
    made = sparkiac(bed, tmp_path, "init", "made/lab", "--from-host", f"spark@{address}", "--import", "run.sh")
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "made/lab/inventories/lab.yaml").read_text()
    data = yaml.safe_load(text)
    assert data["hosts"] == {
        HOST: {
            "address": address,
            "memory": {"total_gib": 119.6},
            "driver": bed.ssh(HOST, "cat /etc/nvidia-stub/driver").stdout.strip(),
        }
    }
    assert data["defaults"]["user"] == "spark"
    assert f"# Measured over ssh: NVIDIA GB10, {os.uname().machine}, " in text
    locked = run("sparkiac", "lock", "inventories/lab.yaml", cwd=tmp_path / "made/lab")
    assert locked.returncode == 0, locked.stdout + locked.stderr
    holds_what_its_readme_says(tmp_path / "made/lab", address=address)


def test_a_host_that_does_not_let_us_in_is_a_sentence(bed: Bed, tmp_path: Path) -> None:
    address = bed.hosts[HOST].address
    found = sparkiac(bed, tmp_path, "init", "lab", "--from-host", f"nobody@{address}", "--recipe", "base/single-spark")
    assert (found.returncode, found.stdout) == (2, "")
    assert f"no ssh connection to nobody@{address}: " in found.stderr
    assert f"it must work without a password: `ssh-copy-id nobody@{address}`" in found.stderr
    assert not (tmp_path / "lab").exists()
