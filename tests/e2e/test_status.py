"""`sparkiac status` on booted hosts: healthy, an engine that is stopped or crashes, a file that was edited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

SERVED = {"spark-01": "RedHatAI/Qwen3.6-35B-A3B-NVFP4", "spark-02": "google/gemma-4-26B-A4B-it"}
RECIPE = "    recipe: redhatai/qwen3.6-35b-a3b-nvfp4"
UNIT = "sparkiac-qwen36"
COMPOSE = "/etc/sparkiac/qwen36/compose.yaml"


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied: both hosts serve."""
    found = Lab(bed, tmp_path_factory.mktemp("lab"))
    found.write()
    found.edit(RECIPE, f"{RECIPE}\n    timeouts: {{drain_s: 0}}")
    found.generate()
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def status(lab: Lab) -> tuple[int, dict[str, Any]]:
    """Return exit code and JSON of `sparkiac status`; the hosts by their names."""
    done = lab.sparkiac("status", "inventories/lab.yaml", "--format", "json")
    return done.returncode, {each["name"]: each for each in json.loads(done.stdout)["hosts"]}


def unit_of(hosts: dict[str, Any], host: str = "spark-01") -> dict[str, Any]:
    """Return the only unit of a host."""
    [found] = hosts[host]["units"]
    return dict(found)


def until_ready(lab: Lab) -> dict[str, Any]:
    """Wait until all is healthy and return the unit of the first host."""
    wait_for(lambda: status(lab)[0] == 0, "a healthy fleet", timeout=300)
    return unit_of(status(lab)[1])


def test_healthy(lab: Lab) -> None:
    code, hosts = status(lab)
    assert code == 0, hosts
    for name, host in hosts.items():
        unit = unit_of(hosts, name)
        assert (unit["state"], unit["served"], unit["fault"]) == ("ready", [SERVED[name]], None)
        assert unit["load"]["kv_use"] is not None
        assert (unit["load"]["running"], unit["load"]["waiting"], unit["load"]["tokens_per_s"]) == (0, 0, 0.0)
        assert unit["restart"]["cause"] == "first start"
        assert host["generation"]["committed"] == host["generated"]
        assert host["drift"] == {"files": [], "sysctls": [], "units": []}
        assert (host["root"], host["unread"], host["clock_s"]) == (True, {}, 0.0)
        assert host["machine"]["memory"]["available_bytes"] > 0
        assert host["machine"]["driver"].startswith("580")


def test_without_root_it_says_what_it_cannot_read(lab: Lab) -> None:
    done = lab.bed.ssh("spark-01", "/usr/local/lib/sparkiac/status vllm:num_requests_running")
    found = json.loads(done.stdout)
    assert found["root"] is False
    assert set(found["unread"]) == {"generation", "restarts", f"served names of {UNIT}"}
    [unit] = found["units"]
    assert (unit["active"], unit["health"].partition(" ")[0], unit["fault"]) == ("active", "healthy", None)


def test_a_unit_that_is_stopped(lab: Lab) -> None:
    lab.bed.ssh("spark-01", f"systemctl stop {UNIT}", root=True)
    code, hosts = status(lab)
    assert (code, unit_of(hosts)["state"]) == (1, "stopped")
    assert unit_of(hosts, "spark-02")["state"] == "ready"
    lab.bed.ssh("spark-01", f"systemctl start {UNIT}", root=True)
    assert until_ready(lab)["restart"]["cause"] == "requested"


def test_a_container_that_is_killed(lab: Lab) -> None:
    lab.bed.ssh("spark-01", f"docker kill {UNIT}-server-1", root=True)
    wait_for(lambda: status(lab)[0] == 1, "the end of the unit", timeout=60)
    restart = until_ready(lab)["restart"]
    assert restart["cause"] == "crash"
    assert restart["detail"] == "the container exited, status 137, out of memory: false"


def test_a_file_that_was_edited(lab: Lab) -> None:
    lab.bed.ssh("spark-01", f"cp -p {COMPOSE} /tmp/kept && echo '# mine' >>{COMPOSE}", root=True)
    code, hosts = status(lab)
    assert (code, hosts["spark-01"]["drift"]["files"]) == (3, [{"path": COMPOSE.lstrip("/"), "kind": "edited"}])
    lab.bed.ssh("spark-01", f"cp -p /tmp/kept {COMPOSE}", root=True)
    assert status(lab)[0] == 0
