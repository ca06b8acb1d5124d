"""What the sources do by hand on their Sparks, and what stands for it in a plan."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from sparkiac.memory.values import GIB, Unknown
from sparkiac.plan import memory_use
from tests.plan.fleets import PAIR, checked, container, deployment, planned, said

ROOT: Final = Path(__file__).parents[2]
SKIP: Final = "env: {VLLM_SKIP_INIT_MEMORY_CHECK: 1}"


def test_triton_finds_ptxas_after_the_commands_before_the_server(tmp_path: Path) -> None:
    """Both commands of the fragment run in a temporary root, a second time as after a restart."""
    chat = container(deployment("image: nvcr.io/nvidia/vllm:26.04-py3", "fragments: [sm121-ngc-2604]"))
    assert [words[0] for words in chat.command.pre_start] == ["mkdir", "ln"]
    compiler = tmp_path / "usr/local/cuda/bin/ptxas"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\necho ptxas of CUDA\n")
    compiler.chmod(0o755)
    for words in (*chat.command.pre_start, *chat.command.pre_start):
        inside = [f"{tmp_path}{word}" if word.startswith("/") else word for word in words]
        subprocess.run(inside, check=True)
    found = tmp_path / "usr/local/lib/python3.12/dist-packages/triton/backends/nvidia/bin/ptxas"
    assert os.path.realpath(found) == str(compiler)
    assert subprocess.run([found], capture_output=True, text=True, check=True).stdout == "ptxas of CUDA\n"


def fits(first: int, second: int) -> set[object]:
    """Return what each node of a group on hosts of these sizes can hold, in GiB."""
    text = PAIR
    for number, size in ((11, first), (12, second)):
        address = f"    address: 192.168.1.{number}\n"
        text = text.replace(address, f"{address}    memory: {{total_gib: {size}}}\n")
    plan = planned(text)
    assert {host.budget.total_bytes for host in plan.hosts if host.budget} == {first * GIB, second * GIB}
    return {account.fit for host in plan.hosts for account in memory_use.of(host).accounts}


def test_the_smaller_host_decides_what_a_group_can_hold() -> None:
    """The thread has hosts of 119 and 121 GiB."""
    [small] = fits(119, 119)
    assert not isinstance(small, Unknown)
    assert fits(119, 121) == fits(121, 119) == {small}
    assert fits(121, 121) != {small}


def test_the_memory_check_can_be_skipped_where_the_image_reads_the_variable() -> None:
    """No release of vLLM has this variable; the build of the thread does."""
    patched = deployment("image: vllm-ds4-pinned", SKIP) + (
        "builds: {vllm-ds4-pinned: {base: 'nvcr.io/nvidia/vllm:26.04-py3', install: [pip, install, .]}}\n"
    )
    assert container(patched).command.env["VLLM_SKIP_INIT_MEMORY_CHECK"] == "1"
    assert not [line for line in codes(patched) if line.startswith("ENV101")]
    released = deployment("image: nvcr.io/nvidia/vllm:26.04-py3", SKIP)
    assert [line for line in codes(released) if line.startswith("ENV101")]
    declared = deployment("image: nvcr.io/nvidia/vllm:26.04-py3", SKIP, "extra_flags: " + EXTRA)
    assert not [line for line in codes(declared) if line.startswith("ENV101")]


EXTRA: Final = "{why: a patch, variables: [VLLM_SKIP_INIT_MEMORY_CHECK]}"


def codes(text: str) -> list[str]:
    """Return the findings of a check."""
    return said(checked(text).report.findings)


def test_helpers_of_others_are_named_with_what_stands_for_each() -> None:
    """Each command and playbook of the table exists."""
    page = (ROOT / "docs/cluster.md").read_text()
    table = page.partition("## Helpers of others\n")[2].partition("\n## ")[0]
    for name in ("mark-ramsey-ri/vllm-dgx-spark", "spark_cluster_setup", "launch-cluster.sh"):
        assert name in table
    assert "`network.yml`" in table
    assert (ROOT / "playbooks/network.yml").is_file()
    for command in ("fabric discover", "reboot"):
        assert f"`sparkiac {command}`" in table
