"""The controller is killed at any moment of an apply: each host ends on one committed generation by itself.

Then the next apply brings both hosts to the new generation, and the one after it changes nothing.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

SERVED = {"spark-01": "RedHatAI/Qwen3.6-35B-A3B-NVFP4", "spark-02": "google/gemma-4-26B-A4B-it"}
MOMENTS = 50


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied: both hosts serve."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    found.generate()
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def change(lab: Lab, stop_s: int) -> None:
    """Change one line of both units, so that the next apply restarts both."""
    text = re.sub(r"\n    timeouts: .*", "", lab.inventory.read_text())
    timeouts = f"{{stop_s: {stop_s}, drain_s: 0}}"
    lab.inventory.write_text(re.sub(r"(\n    recipe: .*)", rf"\1\n    timeouts: {timeouts}", text))
    lab.generate()


def settled(lab: Lab, host: str) -> bool:
    """Return whether a host serves, from its committed generation, and switches no more."""
    script = "systemctl is-active sparkiac-switch >/dev/null || /usr/local/lib/sparkiac/switch status"
    done = lab.bed.ssh(host, script, root=True, check=False)
    if not done.stdout.startswith("{"):
        return False
    status = json.loads(done.stdout)
    ended = status["pending"] is None and status["current"] == status["committed"]
    return ended and lab.served(host) == [SERVED[host]]


def killed_after(lab: Lab, tasks: int, seconds: float) -> bool:
    """Apply, and kill the controller some time after a task has begun; return whether the apply had not ended."""
    with lab.applying() as process:
        assert process.stdout
        for line in process.stdout:
            tasks -= line.startswith("TASK ")
            if tasks <= 0:
                break
        else:
            return False
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
    return True


def check(lab: Lab, seed: int) -> None:
    """Kill an apply at a random moment, and check what must be true after it."""
    chance = random.Random(seed)
    change(lab, 120 + seed)
    killed_after(lab, chance.randrange(1, 60), chance.random() * 2)
    for host in SERVED:
        wait_for(lambda host=host: settled(lab, host), f"{host} to end the switch", timeout=300)  # type: ignore[misc]
    recap = lab.apply()
    assert recap.code == 0, recap.output
    recap = lab.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output


def test_a_kill_at_a_random_moment(lab: Lab) -> None:
    check(lab, 0)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, MOMENTS))
def test_kills_at_many_random_moments(lab: Lab, seed: int) -> None:
    check(lab, seed)
