"""The controller is killed at any moment of an apply: each host ends on one committed generation by itself.

Then the next apply brings both hosts to the new generation, and the one after it changes nothing. The tests can be
stopped and go on later: a moment that passed is not repeated with the same playbooks and programs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac.commands.inputs import Exit
from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import ROOT, Lab, Recap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.bed import Bed

SERVED = {"spark-01": "RedHatAI/Qwen3.6-35B-A3B-NVFP4", "spark-02": "google/gemma-4-26B-A4B-it"}
pytestmark = pytest.mark.deep
MOMENTS = 50
KILLS = 20
CUTS = 5
PHASE = re.compile(r"^ *[\d a-z]+ s  (spark-\d+)  (.*)$", re.MULTILINE)
"""A line of the progress of `sparkiac apply`."""
CALLBACK = Path(__file__).parent / "callback"
KEPT = Path("/var/tmp/sparkiac-killed")  # noqa: S108  kept between runs
HARMLESS = {"assert", "debug", "fail", "group_by", "include_role", "include_tasks", "import_role", "set_fact", "pause"}
"""Actions that reach no host."""


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


def change(lab: Lab) -> None:
    """Change one line of both units, so that the next apply restarts both."""
    text = lab.inventory.read_text()
    before = re.search(r"\n    timeouts: {stop_s: (\d+)", text)
    text = re.sub(r"\n    timeouts: .*", "", text)
    timeouts = f"{{stop_s: {int(before[1]) + 1 if before else 120}, drain_s: 0}}"
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


def killed_after(lab: Lab, tasks: int, seconds: float) -> None:
    """Apply, and kill the controller some time after a task has begun, if the apply has not ended."""
    with lab.applying() as process:
        assert process.stdout
        for line in process.stdout:
            tasks -= line.startswith("TASK ")
            if tasks <= 0:
                break
        else:
            return
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)


def killed_at(lab: Lab, moment: str, tasks: Path | None = None) -> None:
    """Apply, and let the controller kill itself at a moment; or apply to the end, and list the tasks in a file."""
    env = {"ANSIBLE_CALLBACK_PLUGINS": str(CALLBACK), "ANSIBLE_CALLBACKS_ENABLED": "kill_controller", "KILL": moment}
    with lab.applying(**env, TASKS=str(tasks or "")) as process:
        output, _ = process.communicate(timeout=3600)
    assert process.returncode == (-signal.SIGKILL if moment else 0), output


def check(lab: Lab, kill: Callable[[], None]) -> None:
    """Kill an apply that changes both hosts, and check what must be true after it."""
    change(lab)
    kill()
    for host in SERVED:
        wait_for(lambda host=host: settled(lab, host), f"{host} to end the switch", timeout=300)  # type: ignore[misc]
    recap = lab.apply()
    assert recap.code == 0, recap.output
    recap = lab.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output


def check_once(lab: Lab, moment: str, kill: Callable[[], None]) -> None:
    """Check a moment, unless it was checked before with the same playbooks and programs."""
    kept = KEPT / made_of() / moment.replace(" ", "-")
    if not kept.exists():
        began = time.monotonic()
        check(lab, kill)
        print(f"{moment}: {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201 - shown with -s
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.touch()


@functools.cache
def made_of() -> str:
    """Return a digest of all playbooks and programs."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "playbooks").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def at_random(lab: Lab, seed: int) -> Callable[[], None]:
    """Return what kills at a random moment."""
    chance = random.Random(seed)
    return lambda: killed_after(lab, chance.randrange(1, 60), chance.random() * 2)


def moments(listed: str) -> list[str]:
    """Return the moments of a run that are tried, from its list of tasks: the last ones, with the switch, first."""
    lines = [line.split("\t") for line in listed.splitlines()]
    done = {int(number) for number, action, _ in lines if action == "done"}
    actions = {int(number): action.rpartition(".")[2] for number, action, _ in lines if action != "done"}
    found = []
    for number, action in sorted(actions.items(), reverse=True):
        if number in done and action not in HARMLESS:
            found += [f"after {number}", f"before {number}"]
        elif number % 10 == 0:
            found.append(f"before {number}")
    return found


def test_kills_before_and_after_every_task_that_can_change_a_host(lab: Lab, tmp_path: Path) -> None:
    """And before every tenth other task, such as one that is skipped."""
    change(lab)
    killed_at(lab, "", tmp_path / "tasks")
    chosen = moments((tmp_path / "tasks").read_text())
    print(f"{len(chosen)} moments")  # noqa: T201 - shown with -s
    for moment in chosen:
        check_once(lab, moment, lambda moment=moment: killed_at(lab, moment))  # type: ignore[misc]


@pytest.fixture(scope="module")
def length_s(lab: Lab) -> float:
    """Return the time of an apply that changes both hosts, here and now."""
    change(lab)
    began = time.monotonic()
    recap = lab.sparkiac_apply("--yes")
    assert recap.code == 0, recap.output
    return time.monotonic() - began


def interrupted(lab: Lab, seed: int, length_s: float, end: Callable[[subprocess.Popen[str]], str]) -> tuple[str, Recap]:
    """Change both hosts, run `sparkiac apply`, end it at a random moment, and apply again at once.

    `end` returns the output. Return the moment and the last phase that was shown, and the second apply.
    """
    moment = random.Random(seed).uniform(1, length_s)
    while True:
        change(lab)
        with lab.sparkiac_applying("--yes") as process:
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                shown = PHASE.findall(end(process))
                break
        moment /= 2  # it had ended before
    began = time.monotonic()
    again = lab.sparkiac_apply("--yes")
    phase = " ".join(shown[-1]) if shown else "look"
    return f"{moment:.1f} s, {phase}: {again.code} after {time.monotonic() - began:.0f} s", again


def check_converged(lab: Lab, again: Recap) -> None:
    """Check that the second apply has ended well, and that nothing is left to do."""
    assert again.code == 0, again.output
    for host in SERVED:
        assert settled(lab, host)
    last = lab.sparkiac_apply("--yes")
    assert (last.code, "Nothing to do" in last.output) == (0, True), last.output


@pytest.mark.parametrize("seed", range(KILLS))
def test_the_next_sparkiac_apply_converges_at_once_after_a_kill(lab: Lab, length_s: float, seed: int) -> None:
    """Every second time `sparkiac apply` alone is killed, otherwise Ansible too."""

    def kill(process: subprocess.Popen[str]) -> str:
        (os.kill if seed % 2 else os.killpg)(process.pid, signal.SIGKILL)
        return process.communicate(timeout=60)[0]

    moment, again = interrupted(lab, seed, length_s, kill)
    print(f"kill {seed} ({'sparkiac' if seed % 2 else 'all'}) after {moment}", flush=True)  # noqa: T201
    check_converged(lab, again)


@pytest.mark.parametrize("seed", range(CUTS))
def test_the_next_sparkiac_apply_converges_at_once_after_a_cut_cable(lab: Lab, length_s: float, seed: int) -> None:
    """The cable of one host is unplugged until the apply has ended. The other host reports no error of a template."""
    host = random.Random(seed).choice(sorted(SERVED))
    said = []

    def cut(process: subprocess.Popen[str]) -> str:
        with lab.bed.unplugged(host):
            said.append(process.communicate(timeout=600)[0])
        return said[0]

    moment, again = interrupted(lab, 100 + seed, length_s, cut)
    print(f"cut {seed} ({host}) after {moment}", flush=True)  # noqa: T201
    assert "has no attribute" not in said[0]
    check_converged(lab, again)


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_kills_at_many_random_moments(lab: Lab, seed: int) -> None:
    check_once(lab, f"random {seed}", at_random(lab, seed))


@pytest.mark.parametrize("phase", ["download", "switch"])
def test_after_ctrl_c_the_same_command_applies_the_rest(lab: Lab, phase: str) -> None:
    """As the printed text says: nobody is locked out, and a switch that goes on is waited for."""
    change(lab)
    with lab.sparkiac_applying("--yes") as process:
        assert process.stdout
        assert any(found[2] == phase for line in process.stdout if (found := PHASE.match(line)))
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=600)
    assert process.returncode == Exit.INTERRUPTED, output
    assert "The same command shows the state of each host and applies the rest." in output
    check_converged(lab, lab.sparkiac_apply("--yes"))
