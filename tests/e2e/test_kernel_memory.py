"""A kernel with memory that cannot be pinned, on booted hosts: stand-ins for /proc/meminfo, osrelease and cmdline.

The kernel itself is that of the machine; what a real one does to NCCL is not verified on hardware.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pair import HOSTS, MODEL, Pair

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

AFFECTED = "spark-02"
FOUND = (
    "at least 9.3 GiB of memory that cannot be pinned "
    "(CmaFree 9.3 GiB, CmaTotal 0.0 GiB, kernel 7.0.0-1019-nvidia without kho=)"
)
BOOTED = """
printf 'CmaTotal:          32768 kB\\nCmaFree:         9784000 kB\\n' >>/proc/meminfo
echo 7.0.0-1019-nvidia >/run/osrelease && mount --bind /run/osrelease /proc/sys/kernel/osrelease
echo 'BOOT_IMAGE=/vmlinuz ro quiet' >/run/cmdline && mount --bind /run/cmdline /proc/cmdline
"""
"""What the host of a public report shows (MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark issue 259)."""
REMEDIED = """
sed 's/^CmaFree.*/CmaFree:               0 kB/' /proc/meminfo >/run/new && cat /run/new >/proc/meminfo
echo 'BOOT_IMAGE=/vmlinuz ro quiet kho=off' >/run/cmdline
"""


@pytest.fixture(scope="module")
def pair(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Return a group over RDMA, generated and not applied; one of its hosts has such a kernel."""
    found = Pair(bed, tmp_path_factory.mktemp("pair"))
    found.prepare()
    for host in bed.hosts.values():
        link = f"links: [{{interface: {host.fabric_interface}, address: {host.fabric_address}"
        found.edit(link, link.replace("{", "{hca: rocep1s0f1, "))
    found.generate()
    bed.ssh(AFFECTED, BOOTED, root=True)
    return found


def status(pair: Pair) -> tuple[int, list[tuple[str, str, str]]]:
    """Return exit code and problems of `sparkiac status`: host, kind, text."""
    done = pair.sparkiac("status", "inventories/lab.yaml", "--format", "json")
    found = json.loads(done.stdout)["hosts"]
    problems = [(host["name"], each["kind"], each["text"]) for host in found for each in host["problems"]]
    return done.returncode, problems


def words(output: str) -> str:
    """Return a text as words; Ansible prints lines as a list of quoted texts."""
    return " ".join(re.sub(r"""["',]|^ *- """, " ", output, flags=re.MULTILINE).split())


def test_an_apply_of_a_group_over_rdma_stops_before_anything_changes(pair: Pair) -> None:
    recap = pair.apply()
    said = words(recap.output)
    assert recap.code != 0
    assert words(f"FAIL LOG149 pinnable memory: found {FOUND}") in said
    assert "qwen36 cannot register memory for RDMA" in said
    assert "add kho=off to the kernel command line" in said
    for host in HOSTS:
        assert pair.bed.ssh(host, "test -e /etc/sparkiac", check=False).returncode == 1


def test_without_rdma_it_is_a_warning_of_the_apply_and_of_status(pair: Pair) -> None:
    expected: Any = json.loads((pair.tree / f"hosts/{AFFECTED}/etc/sparkiac/preflight.json").read_text())
    pair.want(32768, "NCCL_IB_DISABLE: 1")
    recap = pair.apply()
    assert recap.code == 0, recap.output
    assert words(f"warn LOG149 pinnable memory: found {FOUND}") in words(recap.output)
    assert pair.served("spark-01") == [MODEL]
    assert status(pair) == (0, [(AFFECTED, "warning", FOUND)])
    command = f"/usr/local/lib/sparkiac/preflight --expect-json {shlex.quote(json.dumps(expected))}"
    done = pair.bed.ssh(AFFECTED, command, root=True, check=False)
    assert done.returncode == 1
    assert "FAIL     LOG149  pinnable memory" in done.stdout


def test_the_remedy_ends_it(pair: Pair) -> None:
    pair.bed.ssh(AFFECTED, REMEDIED, root=True)
    assert status(pair) == (0, [])
    machine = json.loads(pair.bed.ssh(AFFECTED, "/usr/local/lib/sparkiac/status", root=True).stdout)["machine"]
    assert (machine["kernel"], machine["unpinnable"]) == ("7.0.0-1019-nvidia", None)
