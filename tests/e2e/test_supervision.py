"""One unit on a real host, whatever ends or stops. The tests build on each other, in order."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
HOST = "spark-01"
UNIT = "sparkiac-qwen36"
MODEL = "RedHatAI/Qwen3.6-35B-A3B-NVFP4"
RECIPE = "    recipe: redhatai/qwen3.6-35b-a3b-nvfp4\n"
PROBLEM_S = 300
"""More than any recovery here takes on a busy machine."""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied to the first host."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    found.edit(RECIPE, f"{RECIPE}    timeouts: {{drain_s: 0, stop_s: 60}}\n")
    found.generate()
    found.stage()
    recap = found.apply("--limit", HOST)
    assert recap.code == 0, recap.output
    return found


def root(lab: Lab, command: str) -> str:
    return lab.bed.ssh(HOST, command, root=True, check=False).stdout.strip()


def containers(lab: Lab) -> list[str]:
    """Return all containers of the unit, also those that do not run."""
    return root(lab, f"docker ps -aq --no-trunc --filter label=com.docker.compose.project={UNIT}").split()


def show(lab: Lab, name: str) -> str:
    return root(lab, f"systemctl show --property={name} --value {UNIT}")


def logged(lab: Lab) -> str:
    return root(lab, f"journalctl --unit={UNIT} --no-pager --output=cat")


def serving(lab: Lab) -> bool:
    return show(lab, "ActiveState") == "active" and lab.served(HOST) == [MODEL]


def recovers(lab: Lab, what: str, break_it: Callable[[], object]) -> None:
    """Break something; the unit serves again, in one new container."""
    before = containers(lab)
    began = time.monotonic()
    break_it()
    wait_for(lambda: containers(lab) not in ([], before) and serving(lab), f"recovery from: {what}", timeout=PROBLEM_S)
    print(f"{what}: serves after {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201 - shown with -s
    assert len(containers(lab)) == 1


def test_a_container_that_the_kernel_killed_for_memory(lab: Lab) -> None:
    """The kernel sends SIGKILL to the engine; here root does."""
    recovers(lab, "kill of the engine", lambda: root(lab, "kill -9 $(pgrep -f '[v]llm serve' | tail -1)"))


def test_a_container_that_is_killed(lab: Lab) -> None:
    recovers(lab, "docker kill", lambda: root(lab, f"docker kill {UNIT}-server-1"))


def test_a_supervisor_that_is_killed_leaves_no_second_container(lab: Lab) -> None:
    pid = show(lab, "MainPID")
    recovers(lab, "kill -9 of the supervisor", lambda: root(lab, f"kill -9 {pid}"))


def test_dockerd_that_is_killed(lab: Lab) -> None:
    kill = "systemctl kill --signal=KILL --kill-whom=main docker"
    recovers(lab, "kill -9 of dockerd", lambda: root(lab, kill))


def test_a_restart_of_docker(lab: Lab) -> None:
    recovers(lab, "restart of docker", lambda: root(lab, "systemctl restart docker"))


def test_docker_that_is_stopped_and_started(lab: Lab) -> None:
    def break_it() -> None:
        root(lab, "systemctl stop docker.socket docker")
        assert show(lab, "ActiveState") in {"inactive", "failed", "deactivating", "activating"}
        root(lab, "systemctl start docker.socket docker")

    recovers(lab, "stop and start of docker", break_it)


def test_a_container_that_is_removed_by_hand(lab: Lab) -> None:
    recovers(lab, "docker rm --force", lambda: root(lab, f"docker rm --force {UNIT}-server-1"))


def test_an_orderly_stop_leaves_nothing(lab: Lab) -> None:
    root(lab, f"systemctl stop {UNIT}")
    assert (show(lab, "Result"), show(lab, "ActiveState"), containers(lab)) == ("success", "inactive", [])
    recovers(lab, "start", lambda: root(lab, f"systemctl start {UNIT}"))


def test_a_stop_while_the_model_loads(lab: Lab) -> None:
    lab.edit(RECIPE, f"{RECIPE}    env: {{STANDIN_LOAD_SECONDS: '30'}}\n")
    lab.generate()
    recap = lab.apply("--limit", HOST)
    assert recap.code == 0, recap.output
    before = containers(lab)
    root(lab, f"systemctl restart --no-block {UNIT}")
    wait_for(lambda: containers(lab) not in ([], before), "the model to load", timeout=PROBLEM_S)
    assert not serving(lab)
    root(lab, f"systemctl stop {UNIT}")
    assert (show(lab, "Result"), containers(lab)) == ("success", [])
    recovers(lab, "start", lambda: root(lab, f"systemctl start {UNIT}"))


def test_a_power_cut(lab: Lab) -> None:
    def break_it() -> None:
        lab.bed.cut_power(HOST)
        lab.bed.power_on(HOST)

    recovers(lab, "power cut, with the boot", break_it)


def test_a_crash_loop_waits_longer_each_time(lab: Lab) -> None:
    """The unit goes on trying, and serves when the fault is gone."""
    compose = "/etc/sparkiac/qwen36/compose.yaml"
    root(lab, f"cp -a {compose} /root/compose")
    root(lab, f"sed -i 's/STANDIN_LOAD_SECONDS: .*/STANDIN_LOAD_SECONDS: \"none\"/' {compose}")
    root(lab, f"systemctl restart --no-block {UNIT}")
    wait_for(lambda: int(show(lab, "NRestarts") or 0) >= 3, "three restarts", timeout=PROBLEM_S)
    delays = re.findall(r"RestartUSecNext=(\S+)", root(lab, f"systemctl show --property=RestartUSecNext {UNIT}"))
    assert delays
    assert delays != ["2s"]
    root(lab, f"cp -a /root/compose {compose}; rm /root/compose")
    wait_for(lambda: serving(lab), "the unit after its crash loop", timeout=PROBLEM_S)


def test_a_unit_that_a_person_stopped_starts_with_the_next_apply(lab: Lab) -> None:
    root(lab, f"systemctl stop {UNIT}; systemctl reset-failed {UNIT}")
    recap = lab.apply("--limit", HOST)
    assert recap.code == 0, recap.output
    assert serving(lab)


def test_a_missing_credential_is_named(lab: Lab) -> None:
    """In the log of the unit, and by an apply before anything is changed."""
    secret = "/etc/sparkiac/secrets/vllm_api_key"  # noqa: S105 - a path
    root(lab, f"mv {secret} /root/kept; systemctl restart --no-block {UNIT}")
    wait_for(lambda: "vllm_api_key" in logged(lab).rpartition("FAIL")[2], "the log to name it", timeout=PROBLEM_S)
    root(lab, f"mv /root/kept {secret}")
    wait_for(lambda: serving(lab), "the unit with its credential", timeout=PROBLEM_S)
