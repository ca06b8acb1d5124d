"""A unit whose starts go on without success gives up on a booted host, says so, and goes on with one command."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
HOST = "spark-01"
UNIT = "sparkiac-qwen36"
MODEL = "RedHatAI/Qwen3.6-35B-A3B-NVFP4"
RECIPE = "    recipe: redhatai/qwen3.6-35b-a3b-nvfp4\n"
COMPOSE = "/etc/sparkiac/qwen36/compose.yaml"
AGAIN = f"sudo systemctl start {UNIT}"
READY_S = 600
METRICS = json.dumps({"units": [{"unit": UNIT, "deployment": "qwen36"}]})


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied to the first host."""
    found = Lab(bed, tmp_path_factory.mktemp("lab"))
    found.write()
    timeouts = f"timeouts: {{ready_s: {READY_S}, drain_s: 0}}"
    found.edit(RECIPE, f"{RECIPE}    {timeouts}\n    env: {{STANDIN_LOAD_SECONDS: '1'}}\n")
    found.generate()
    found.stage()
    recap = found.apply("--limit", HOST)
    assert recap.code == 0, recap.output
    return found


@pytest.fixture
def broken(lab: Lab) -> Iterator[Lab]:
    """Let the server crash at each start; afterwards the unit serves again."""
    root(
        lab, f"cp -a {COMPOSE} /root/compose; sed -i 's/STANDIN_LOAD_SECONDS: .*/STANDIN_LOAD_SECONDS: none/' {COMPOSE}"
    )
    yield lab
    repair(lab)
    root(lab, f"{AGAIN} --no-block")
    wait_for(lambda: serving(lab), "the unit", timeout=300)


def root(lab: Lab, command: str) -> str:
    return lab.bed.ssh(HOST, command, root=True, check=False).stdout.strip()


def repair(lab: Lab) -> None:
    root(lab, f"cp -a /root/compose {COMPOSE}")


def show(lab: Lab, name: str) -> str:
    return root(lab, f"systemctl show --property={name} --value {UNIT}")


def logged(lab: Lab, since: str) -> str:
    return root(lab, f"journalctl --unit={UNIT} --no-pager --output=cat --since=@{since}")


def serving(lab: Lab) -> bool:
    return show(lab, "ActiveState") == "active" and lab.served(HOST) == [MODEL]


def unit(lab: Lab) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the unit and the problems that `sparkiac status` shows."""
    done = lab.sparkiac("status", "inventories/lab.yaml", HOST, "--format", "json")
    [host] = json.loads(done.stdout)["hosts"]
    return host["units"][0], host["problems"]


def metrics(lab: Lab) -> str:
    root(lab, f"echo '{METRICS}' >/etc/sparkiac/metrics.json; /usr/local/lib/sparkiac/host_metrics")
    return root(lab, "cat /var/lib/sparkiac/metrics/sparkiac.prom; rm /etc/sparkiac/metrics.json")


def available(lab: Lab, gib: int) -> None:
    """Change the stand-in of the available memory."""
    line = f"MemAvailable: {gib << 20} kB"
    root(lab, f"sed 's/^MemAvailable:.*/{line}/' /proc/meminfo >/root/meminfo; cat /root/meminfo >/proc/meminfo")


def test_a_unit_that_never_answers_stays_down_after_five_starts(broken: Lab) -> None:
    lab, since = broken, root(broken, "date +%s")
    began = time.monotonic()
    root(lab, f"systemctl restart --no-block {UNIT}")
    wait_for(lambda: show(lab, "ActiveState") == "failed", "the unit to give up", timeout=600)
    log = logged(lab, since)
    print(f"gave up after {time.monotonic() - began:.0f} s\n{log}", flush=True)  # noqa: T201 - shown with -s
    assert log.count("supervise: the container exited") == 5
    assert f"gave up: 5 starts in a row never answered; to start it again: {AGAIN}" in log
    assert (show(lab, "SubState"), show(lab, "NRestarts")) == ("failed", "5")
    found, problems = unit(lab)
    assert (found["state"], found["gave_up"]) == ("gave up", "5 starts in a row never answered")
    [problem] = [each for each in problems if each["unit"] == "qwen36" and each["kind"] == "unhealthy"]
    assert problem["text"] == "gave up: 5 starts in a row never answered"
    assert AGAIN in problem["hint"]
    labels = f'deployment="qwen36",reason="5 starts in a row never answered",unit="{UNIT}"'
    assert f"sparkiac_unit_gave_up{{{labels}}} 1" in metrics(lab)
    print(lab.sparkiac("status", "inventories/lab.yaml", HOST).stdout)  # noqa: T201 - shown with -s
    root(lab, f"{AGAIN} --no-block")
    wait_for(lambda: logged(lab, since).count("supervise: the container exited") == 7, "two more starts", timeout=120)
    assert unit(lab)[0]["gave_up"] is None
    repair(lab)
    wait_for(lambda: serving(lab), "the unit", timeout=300)
    assert unit(lab)[0]["state"] == "ready"
    assert "sparkiac_unit_gave_up" not in metrics(lab)


def test_starts_without_docker_do_not_count(lab: Lab) -> None:
    root(lab, "systemctl stop docker.socket docker; systemctl start docker.socket docker")
    wait_for(lambda: serving(lab), "the unit", timeout=300)
    assert json.loads(root(lab, f"cat /run/sparkiac/starts/{UNIT}.json"))["unanswered"] == 0


def test_memory_that_does_not_come_back_ends_a_switch_at_once(broken: Lab) -> None:
    """An apply waits for the start that it finds, and ends with it: not after `ready_s`."""
    lab, starts = broken, "/usr/local/lib/sparkiac/host/switch/starts.py"
    repair(lab)  # the apply must find nothing but the unit that does not run
    root(lab, f"cp -a {starts} /root/starts; sed -i 's/^RETURN_S = .*/RETURN_S = 60/' {starts}")
    available(lab, 110)
    root(lab, f"systemctl restart {UNIT}")
    available(lab, 103)
    root(lab, f"docker kill {UNIT}-server-1")
    wait_for(lambda: "waiting for 7.0 GiB" in show(lab, "StatusText"), "the unit to wait for memory", timeout=60)
    assert unit(lab)[0]["state"] == "starting"
    root(lab, f"cp -a /root/starts {starts}")
    began = time.monotonic()
    recap = lab.apply("--limit", HOST)
    assert time.monotonic() - began < READY_S / 2
    assert recap.code != 0
    said = "gave up: 7.0 GiB of memory did not come back in 1 minutes"
    print(recap.output, flush=True)  # noqa: T201 - shown with -s
    assert said.removeprefix("gave up: ") in " ".join(recap.output.split())
    assert unit(lab)[1][0]["text"] == said
    assert show(lab, "ActiveState") == "failed"
    available(lab, 112)
