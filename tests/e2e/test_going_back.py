"""Whatever is wrong with a new version: both hosts serve afterwards what they served before, and the cause is said.

Each case begins with the hosts that the one before it left, which is always the same state.
"""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.bed import Bed

SERVED = {"spark-01": "RedHatAI/Qwen3.6-35B-A3B-NVFP4", "spark-02": "google/gemma-4-26B-A4B-it"}
UNITS = {"spark-01": "sparkiac-qwen36", "spark-02": "sparkiac-gemma4"}
RECIPE = "    recipe: redhatai/qwen3.6-35b-a3b-nvfp4"
READY_S = 60
CASES = {
    "crash": ("env: {STANDIN_BEHAVIOUR: nonsense}", "behaviour 'nonsense' is none of"),
    "bad-option": ("set: {no_such_option: 1}", "unrecognized arguments: --no-such-option=1"),
    "garbage": ("env: {STANDIN_BEHAVIOUR: garbage}", "one token repeated"),
    "null": ("env: {STANDIN_BEHAVIOUR: 'null'}", "null answer"),
    "empty": ("env: {STANDIN_BEHAVIOUR: empty}", "empty answer"),
    "tools-refused": (
        "env: {STANDIN_BEHAVIOUR: refuse-tools}\n    clients: [tools]",
        "a request with tools is rejected",
    ),
    "never-ready": ("env: {STANDIN_BEHAVIOUR: unhealthy}", "/health: HTTP 503"),
}
"""What is added to the deployment of the first host, and the cause that the apply reports."""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied: both hosts serve."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    found.edit(RECIPE, f"{RECIPE}\n    timeouts: {{ready_s: {READY_S}, drain_s: 0}}")
    found.generate()
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


@pytest.fixture
def changed(lab: Lab) -> Iterator[Lab]:
    """Return the lab; afterwards its inventory is as it was, and an apply changes nothing."""
    text, lock = lab.inventory.read_text(), lab.inventory.with_name("lab.lock.yaml").read_text()
    before = state(lab)
    yield lab
    lab.inventory.write_text(text)
    lab.inventory.with_name("lab.lock.yaml").write_text(lock)
    lab.generate()
    assert {host: lab.served(host) for host in SERVED} == {host: [name] for host, name in SERVED.items()}
    assert state(lab) == before
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output


def state(lab: Lab) -> dict[str, str]:
    """Return the committed generation of each host; none of them has a pending one."""
    found = {}
    for host in SERVED:
        done = lab.bed.ssh(host, "/usr/local/lib/sparkiac/switch status", root=True)
        status = json.loads(done.stdout)
        assert status["pending"] is None
        assert status["current"] == status["committed"]
        found[host] = status["committed"]
    return found


def failing(lab: Lab, cause: str) -> str:
    """Apply, expect a failure with a cause, and return what was printed."""
    began = time.monotonic()
    recap = lab.apply()
    assert recap.code == 2, recap.output
    assert cause in " ".join(recap.output.split()), recap.output
    print(f"failed after {time.monotonic() - began:.0f} s: {cause}")  # noqa: T201 - shown with -s
    return recap.output


def test_a_bad_option(changed: Lab) -> None:
    check_bad_version(changed, *CASES["bad-option"])


@pytest.mark.deep
@pytest.mark.parametrize("case", [name for name in CASES if name != "bad-option"])
def test_a_bad_version(changed: Lab, case: str) -> None:
    check_bad_version(changed, *CASES[case])


def check_bad_version(changed: Lab, added: str, cause: str) -> None:
    """Apply a bad version to the first host."""
    second = container(changed, "spark-02")
    changed.edit(RECIPE, f"{RECIPE}\n    {added}")
    changed.generate()
    output = failing(changed, cause)
    assert "runs again" in output
    assert "GET /" not in output
    assert container(changed, "spark-02") == second


def container(lab: Lab, host: str) -> str:
    return lab.bed.ssh(host, f"docker ps -q --no-trunc --filter name={UNITS[host]}-server", root=True).stdout.strip()


@pytest.mark.deep
def test_an_image_that_does_not_start(changed: Lab) -> None:
    lock = changed.inventory.with_name("lab.lock.yaml")
    locked = json.loads(lock.read_text())
    locked["images"]["nvcr.io/nvidia/vllm:26.04-py3"]["entrypoint"] = ["/bin/false"]
    lock.write_text(json.dumps(locked))
    changed.generate()
    failing(changed, "its process ended with an error")


@pytest.mark.deep
def test_an_image_that_no_registry_has(changed: Lab) -> None:
    first = container(changed, "spark-01")
    lock = changed.inventory.with_name("lab.lock.yaml")
    locked = json.loads(lock.read_text())
    locked["images"]["nvcr.io/nvidia/vllm:26.04-py3"]["digest"] = "sha256:" + "0" * 64
    lock.write_text(json.dumps(locked))
    changed.generate()
    failing(changed, "manifest unknown")
    assert container(changed, "spark-01") == first


def test_a_full_disk_while_staging(changed: Lab) -> None:
    first = container(changed, "spark-01")
    place, kept = "/var/lib/sparkiac/generations", "/tmp/kept"  # noqa: S108  on the host
    size = f"$(($(du -sk {place} | cut -f1) + 60))k"
    small = f"cp -a {place} {kept}; mount -t tmpfs -o size={size} none {place}; cp -a {kept}/. {place}/"
    changed.edit(RECIPE, f"{RECIPE}\n    set: {{max_model_len: 65536}}")
    changed.generate()
    try:
        changed.bed.ssh("spark-01", small, root=True)
        failing(changed, "No space left on device")
    finally:
        changed.bed.ssh("spark-01", f"umount {place}; rm -rf {kept}", root=True)
    assert container(changed, "spark-01") == first


@pytest.mark.deep
def test_docker_does_not_run(changed: Lab) -> None:
    changed.edit(RECIPE, f"{RECIPE}\n    set: {{max_model_len: 65536}}")
    changed.generate()
    second = container(changed, "spark-02")
    changed.bed.ssh("spark-01", "systemctl stop docker.socket docker.service", root=True)
    try:
        failing(changed, "Cannot connect to the Docker daemon")
    finally:
        changed.bed.ssh("spark-01", "systemctl start docker.socket docker.service", root=True)
    assert container(changed, "spark-02") == second
    wait_for(lambda: changed.served("spark-01") == [SERVED["spark-01"]], "the unit after docker", timeout=300)


def test_two_applies_at_once(changed: Lab) -> None:
    """One of them goes on, the other is refused with the name of the owner."""
    changed.edit(RECIPE, f"{RECIPE}\n    env: {{STANDIN_BEHAVIOUR: nonsense}}")
    changed.generate()
    with ThreadPoolExecutor() as pool:
        first, second = [pool.submit(changed.apply) for _ in range(2)]
        outputs = [first.result().output, second.result().output]
    refused = [output for output in outputs if "another apply holds a lease" in output]
    assert len(refused) == 1, outputs
    assert "is being applied by" in " ".join(refused[0].split())
    assert [output for output in outputs if "runs again" in output], outputs


@pytest.mark.deep
def test_a_controller_that_dies_during_a_bad_switch(changed: Lab) -> None:
    """The host goes back without it."""
    first = container(changed, "spark-01")
    changed.edit(RECIPE, f"{RECIPE}\n    env: {{STANDIN_BEHAVIOUR: garbage}}")
    changed.generate()
    with changed.applying() as process:
        wait_for(lambda: container(changed, "spark-01") not in {"", first}, "the new container", timeout=300)
        os.killpg(process.pid, signal.SIGKILL)
    wait_for(lambda: changed.served("spark-01") == [SERVED["spark-01"]], "the former version", timeout=300)
    wait_for(lambda: idle(changed, "spark-01"), "the end of the switch", timeout=300)
    changed.bed.ssh("spark-01", "rm -f /run/sparkiac/lease.json", root=True)  # a lease ends 90 s after its owner


@pytest.mark.deep
def test_a_switch_program_that_is_killed(changed: Lab) -> None:
    """It is started again, and goes back."""
    first = container(changed, "spark-01")
    changed.edit(RECIPE, f"{RECIPE}\n    env: {{STANDIN_BEHAVIOUR: unhealthy}}")
    changed.generate()
    with changed.applying() as process, ThreadPoolExecutor() as pool:
        output = pool.submit(process.communicate)
        wait_for(lambda: container(changed, "spark-01") not in {"", first}, "the new container", timeout=300)
        changed.bed.ssh("spark-01", "systemctl kill --signal=KILL sparkiac-switch", root=True)
        text, _ = output.result()
    assert process.returncode == 2, text
    assert "the switch was interrupted" in " ".join(text.split()), text


def idle(lab: Lab, host: str) -> bool:
    """Return whether no switch runs on a host."""
    return lab.bed.ssh(host, "systemctl is-active sparkiac-switch", check=False).stdout.strip() != "active"


def test_a_host_that_loses_its_power_during_a_switch(changed: Lab) -> None:
    """It boots with the committed generation."""
    first = container(changed, "spark-01")
    changed.edit(RECIPE, f"{RECIPE}\n    env: {{STANDIN_BEHAVIOUR: unhealthy}}")
    changed.generate()
    with changed.applying() as process, ThreadPoolExecutor() as pool:
        output = pool.submit(process.communicate)
        wait_for(lambda: container(changed, "spark-01") not in {"", first}, "the new container", timeout=300)
        changed.bed.reboot("spark-01")
        assert process.wait() != 0, output.result()[0]
    wait_for(lambda: changed.served("spark-01") == [SERVED["spark-01"]], "the former version", timeout=300)
    wait_for(lambda: idle(changed, "spark-01"), "the end of the switch", timeout=300)


def test_rollback_needs_no_registry(changed: Lab) -> None:
    before = state(changed)
    changed.edit(RECIPE, f"{RECIPE}\n    set: {{max_model_len: 65536}}")
    changed.generate()
    recap = changed.apply()
    assert recap.code == 0, recap.output
    assert state(changed)["spark-01"] != before["spark-01"]
    recap = changed.apply("--limit", "spark-01", playbook="playbooks/rollback.yml")
    assert recap.code == 0, recap.output
    assert state(changed) == before
