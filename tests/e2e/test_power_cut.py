"""A host loses its power at any step of a switch: it boots and serves its committed generation.

A step is a change of a file or a command of the switch program. At the wanted one the program stops, and the power is
cut. The disk keeps what was written, also if it was not synced: tests/host/test_switch_power.py drops that.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
HOSTS = ("spark-01", "spark-02")
CUTS = 30
LENGTHS = (32768, 16384)
SWITCH = "/usr/local/lib/sparkiac/switch"
HOOK = "/usr/local/lib/python3.13/dist-packages/bed_steps"
REACHED = "/var/lib/bed-reached"
STEPS = f"""\
# Part of the test bed: counts the steps of `switch run`, and stops it for ever at the one that /run/bed-step names.
import atexit, os, sys, time
CHANGES = {{"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod", "subprocess.Popen"}}
def arm():
    words = open("/proc/self/cmdline").read().split(chr(0))
    if "run" not in words or not any(word.endswith("/switch") for word in words):
        return
    wanted, count, busy = int(open("/run/bed-step").read()), [0], []
    def step(event, values):
        written = event == "open" and isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)
        if busy or not (written or event in CHANGES):
            return
        count[0] += 1
        if count[0] == wanted:
            busy.append(True)
            with open("{REACHED}", "w") as file:
                file.write(f"{{event}} {{values[0]}}")
            while True:
                time.sleep(60)
    def told():
        busy.append(True)
        with open("/run/bed-steps", "w") as file:
            file.write(str(count[0]))
    sys.addaudithook(step)
    atexit.register(told)
try:
    arm()
except (OSError, ValueError):
    pass
"""


INTERRUPTED = """\
set -eu
cd /var/lib/sparkiac
systemctl stop {unit}
python3 -c '
import json
state = json.load(open("state.json"))
pending = {{"generation": "{other}", "run": "cut", "token": "", "phase": "trying", "also": []}}
json.dump({{**state, "current": "{other}", "pending": pending}}, open("state.json", "w"))'
cp generations/{other}/files{compose} {compose}
readlink programs >/root/programs
ln -sfn /nowhere programs
sync
"""
"""A switch that has installed one file, and a recovery that fails, because its program is missing."""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, with two generations on each host and a switch program that can be stopped at a step."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    for length in LENGTHS:
        text = found.inventory.read_text()
        for recipe in ("redhatai/qwen3.6-35b-a3b-nvfp4", "google/gemma-4-26b-a4b-it-fp8"):
            line = f"    recipe: {recipe}\n"
            settings = f"    set: {{max_model_len: {length}}}\n    timeouts: {{drain_s: 0}}\n"
            text = text.replace(line, line + settings) if length == LENGTHS[0] else text
        found.inventory.write_text(text.replace(str(LENGTHS[0]), str(length)))
        found.generate()
        found.stage()
        recap = found.apply()
        assert recap.code == 0, recap.output
    for host in HOSTS:
        bed.ssh(host, f"cat >{HOOK}.py <<'END'\n{STEPS}END\necho import bed_steps >{HOOK}.pth", root=True)
    return found


def status(lab: Lab, host: str) -> dict[str, object]:
    """Return the generations of a host; nothing while a switch runs or it cannot be reached."""
    script = f"! systemctl --quiet is-active sparkiac-switch && {SWITCH} status"
    done = lab.bed.ssh(host, script, root=True, check=False)
    return dict(json.loads(done.stdout)) if done.stdout.startswith("{") else {}


def start(lab: Lab, host: str, run: str, step: int) -> str:
    """Start a switch to the other generation, to be stopped at a step; return the generation that is committed."""
    found = status(lab, host)
    script = (
        f"rm -f {REACHED} /run/bed-steps; echo {step} >/run/bed-step; {SWITCH} lease take --run {run} --owner test\n"
        f"nohup {SWITCH} start previous --run {run} </dev/null >/dev/null 2>&1 &"
    )
    lab.bed.ssh(host, script, root=True)
    return str(found["committed"])


def there(lab: Lab, host: str, path: str) -> bool:
    return lab.bed.ssh(host, f"test -e {path}", root=True, check=False).returncode == 0


def steps(lab: Lab, host: str) -> int:
    """Return how many steps a switch has."""
    before = start(lab, host, "count", 0)
    wait_for(lambda: there(lab, host, "/run/bed-steps"), f"the switch of {host}", timeout=300, every=0.5)
    wait_for(lambda: status(lab, host).get("committed") not in {None, before}, "the commit", timeout=60)
    lab.bed.ssh(host, f"{SWITCH} lease release --run count", root=True)
    return int(lab.bed.ssh(host, "cat /run/bed-steps", root=True).stdout)


def check(lab: Lab, host: str, number: int, step: int) -> str:
    """Cut the power of a host at a step of its switch; return what must be shown."""
    before = start(lab, host, f"cut{number}", step)
    # A switch after a power cut can have one or two steps less than the one that was counted.
    wait_for(lambda: there(lab, host, f"{REACHED} -o -e /run/bed-steps"), f"step {step}", timeout=300, every=0.5)
    event = lab.bed.ssh(host, f"cat {REACHED} || echo end", root=True).stdout.strip()
    lab.bed.cut_power(host)
    began = time.monotonic()
    lab.bed.power_on(host)
    wait_for(lambda: served(lab, host) != 0, f"{host} to serve", timeout=400, every=0.5)
    seconds = time.monotonic() - began
    found = status(lab, host)
    assert (found["pending"], found["current"]) == (None, found["committed"]), found
    # The server answers shortly before systemd takes its unit as ready.
    wait_for(lambda: drift(lab, host) == [], f"{host} not to differ from its generation", timeout=120, every=0.5)
    compose = f"/var/lib/sparkiac/generations/{found['committed']}/files/etc/sparkiac/*/compose.yaml"
    wanted = lab.bed.ssh(host, f"grep -ho 'max-model-len=[0-9]*' {compose}", root=True).stdout.strip()
    assert wanted == f"max-model-len={served(lab, host)}"
    word = "former" if found["committed"] == before else "new"
    return f"{host}: step {step} ({event}): {word} generation, serves {seconds:.0f} s after power on"


def drift(lab: Lab, host: str) -> list[str]:
    """Return how a host differs from its generation."""
    found: list[str] = json.loads(lab.bed.ssh(host, f"{SWITCH} drift", root=True).stdout)["lines"]
    return found


def served(lab: Lab, host: str) -> int:
    """Return the longest text that a host's server takes; 0 if it does not serve."""
    code, body = lab.get(host, "/v1/models")
    return int(body["data"][0]["max_model_len"]) if code == 200 else 0


def test_a_host_that_loses_its_power_at_any_step_serves_its_committed_generation(lab: Lab) -> None:
    """Both hosts at the same time, each for its own."""

    def cuts(host: str) -> list[str]:
        total, half = steps(lab, host), CUTS // len(HOSTS)
        offset = HOSTS.index(host)
        chosen = [1 + (total - 1) * (each * len(HOSTS) + offset) // (CUTS - 1) for each in range(half)]
        found = [f"{host}: {total} steps"]
        for number, step in enumerate(chosen):
            found.append(check(lab, host, number, step))
            print(found[-1], flush=True)  # noqa: T201 - shown with -s
        return found

    with ThreadPoolExecutor() as pool:
        told = [line for lines in pool.map(cuts, HOSTS) for line in lines]
    assert len(told) == CUTS + len(HOSTS)
    assert any("former generation" in line for line in told)
    assert any("new generation" in line for line in told)
    recap = lab.apply()
    assert recap.code == 0, recap.output
    recap = lab.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output


def test_a_host_whose_recovery_fails_waits_and_tries_again(lab: Lab) -> None:
    """It starts no file of the interrupted switch; when the cause is gone, it serves the committed generation."""
    host, unit, compose = "spark-01", "sparkiac-qwen36", "/etc/sparkiac/qwen36/compose.yaml"
    found, before = status(lab, host), served(lab, host)
    lab.bed.ssh(host, INTERRUPTED.format(unit=unit, compose=compose, other=found["previous"]), root=True)
    lab.bed.cut_power(host)
    lab.bed.power_on(host)
    journal = f"journalctl --boot --output=cat --unit={unit}"
    refusal = "an interrupted switch was not finished; see journalctl --unit=sparkiac-recover"
    wait_for(lambda: lab.bed.ssh(host, journal, root=True).stdout.count(refusal) > 1, "two refusals", timeout=200)
    assert lab.bed.ssh(host, "systemctl is-failed sparkiac-recover", check=False).stdout.strip() == "failed"
    assert lab.bed.ssh(host, "docker ps --all --quiet", root=True).stdout == ""
    lab.bed.ssh(host, 'ln -sfn "$(cat /root/programs)" /var/lib/sparkiac/programs', root=True)
    wait_for(lambda: served(lab, host) == before, f"{host} to serve", timeout=200)
    after = status(lab, host)
    assert (after["pending"], after["committed"]) == (None, found["committed"])
    wait_for(lambda: drift(lab, host) == [], f"{host} not to differ from its generation", timeout=120, every=0.5)
