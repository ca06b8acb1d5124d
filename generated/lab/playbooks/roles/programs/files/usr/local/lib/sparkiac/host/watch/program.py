"""Set the settings of this host again that are lost, and recognise a sick machine. A systemd timer runs this program.

watch [--root DIRECTORY]
watch --load UNIT          load the GPU of a drained host for two minutes, with the image of a unit: is it stuck?

Exit status: 0 done, 1 something could not be read or set (stderr says what), 2 usage, 3 the GPU is stuck.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

from .. import durable, local, settings
from .. import state as switch_state
from ..generation import CLOCK_CAP, SICK, SickRecord
from ..local import LocalHost
from ..preflight.host import EXPECTATIONS
from ..switch import store
from . import sampling, sickness
from .sickness import DEADLOCKED, KEPT, Sample, Sickness, Work

FAULTS = (OSError, ValueError, RuntimeError, KeyError)
RECORD = "/var/lib/sparkiac/watch/record.json"
RESTARTS, HOUR_S = 2, 3600
"""Restarts of a deadlocked unit within an hour, at most; then it is only told."""
EVERY_S = 5
LOAD = """
import time, torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
end = time.time() + 600
while time.time() < end:
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
"""


class Record(NamedTuple):
    """What the watch knows from its former runs."""

    samples: list[Sample]
    bands: sickness.Bands
    restarts: dict[str, list[float]]
    """Unit → when it was restarted."""


def keep(machine: LocalHost, plan: dict[str, Any]) -> None:
    """Set the settings again that are not those of the kernel, which systemd-sysctl sets at a boot.

    The cap of the GPU's clock is set each time: an idle GPU does not show that it is lost.
    """
    for key, value in [(each["key"], each["value"]) for each in plan["sysctls"] if each["key"] in settings.COMMANDED]:
        found = settings.read(machine, key)
        if found != value:
            local.say(f"watch: {key} is {found} instead of {value}: set again")
        if found != value or key == CLOCK_CAP:
            settings.put(machine, key, value)


def recorded(machine: LocalHost) -> Record:
    """Return the record; an empty one if it is missing or damaged."""
    try:
        found = json.loads(machine.read(RECORD))
        samples = [Sample(**each) for each in found["samples"]]
        worked = [each._replace(units={name: Work(*work) for name, work in each.units.items()}) for each in samples]
        return Record(worked, found["bands"], found["restarts"])
    except (*FAULTS, TypeError):
        return Record([], {}, {})


def look(machine: LocalHost, plan: dict[str, Any]) -> None:
    """Take a sample, judge the series, restart what is deadlocked, and write what is sick."""
    units = store.running_in(plan, store.current_turn(plan, switch_state.read(machine).turn))
    before, said = recorded(machine), sampling.nvidia_smi(machine)
    samples = [*before.samples, sampling.sample(machine, units, said)][-KEPT:]
    now_s = samples[-1].at_s
    sick = [*sickness.judged(samples, before.bands), *sampling.told(machine, now_s, said)]
    bands = sickness.learned(before.bands, samples, sick)
    restarts = before.restarts
    for each in sick:
        restarts = restarted(machine, each, restarts, now_s)
    write(machine, RECORD, {"samples": [each._asdict() for each in samples], "bands": bands, "restarts": restarts})
    tell(machine, sick, now_s)


def restarted(
    machine: LocalHost, found: Sickness, restarts: dict[str, list[float]], now_s: float
) -> dict[str, list[float]]:
    """Restart a deadlocked unit, unless that has not helped; return the restarts."""
    if found.kind != DEADLOCKED or found.unit is None:
        return restarts
    recent = [each for each in restarts.get(found.unit, []) if now_s - each < HOUR_S]
    if len(recent) >= RESTARTS:
        return restarts
    local.say(f"watch: {found.unit} is deadlocked and is restarted: {found.text}")
    machine.run("systemctl", "restart", "--no-block", f"{found.unit}.service")
    return {**restarts, found.unit: [*recent, now_s]}


def tell(machine: LocalHost, sick: list[Sickness], now_s: float) -> None:
    """Write what is sick for `status` and the metrics, and what is new to the journal."""
    former = local.read_record(machine, SICK, SickRecord) or {"sick": []}
    known = [(each["kind"], each["unit"]) for each in former["sick"]]
    for each in sick:
        if (each.kind, each.unit) not in known:
            local.say(f"watch: sick, {each.kind}{f' {each.unit}' if each.unit else ''}: {each.text}")
    listed = [{**each._asdict(), "remedy": sickness.REMEDIES[each.kind]} for each in sick]
    write(machine, SICK, {"at_s": now_s, "sick": listed})


def write(machine: LocalHost, name: str, value: dict[str, Any]) -> None:
    """Write a file that everybody may read."""
    durable.make_directory(machine.path(name).parent)
    durable.write(machine.path(name), json.dumps(value).encode() + b"\n", 0o644)


def load(machine: LocalHost, unit: str) -> int:
    """Load the GPU and compare it with its bands; return the exit status."""
    plan = store.installed(machine)
    first = sampling.sample(machine, plan["units"], sampling.nvidia_smi(machine))
    if busy := [name for name, work in first.units.items() if work.running]:
        raise RuntimeError(f"requests run on {', '.join(busy)}: drain the host first")
    image = json.loads(machine.read(EXPECTATIONS))["units"][unit.removeprefix("sparkiac-")]["image"]
    words = ("docker", "run", "--rm", "--init", "--gpus=all", "--network=none", "--entrypoint=python3", image)
    found: list[Sample] = []
    with subprocess.Popen([*words, "-c", LOAD]) as running:  # noqa: S603
        try:
            while not sickness.window(found) and running.poll() is None:
                time.sleep(EVERY_S)
                found.append(sampling.sample(machine, [], sampling.nvidia_smi(machine)))
            ended = running.poll()
        finally:
            running.terminate()
    if ended is not None:
        raise RuntimeError(f"the load ended with {ended} before its time")
    verdict = sickness.stuck(sickness.window(found), recorded(machine).bands)
    local.say(f"watch: {verdict.text}: {sickness.REMEDIES[verdict.kind]}" if verdict else "watch: the GPU is not stuck")
    return 3 if verdict else 0


def main(argv: list[str]) -> int:
    """Watch once, or load the GPU; a switch sets the settings of its own generation."""
    parser = argparse.ArgumentParser(prog="watch", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="root directory of the host, for tests")
    parser.add_argument("--load", metavar="UNIT", help="load the GPU of a drained host")
    arguments = parser.parse_args(argv)
    machine = LocalHost(arguments.root)
    try:
        if arguments.load:
            return load(machine, arguments.load)
        if switch_state.read(machine).pending is None:
            plan = store.installed(machine)
            keep(machine, plan)
            look(machine, plan)
    except FAULTS as error:
        local.say(f"watch: {error}")
        return 1
    return 0
