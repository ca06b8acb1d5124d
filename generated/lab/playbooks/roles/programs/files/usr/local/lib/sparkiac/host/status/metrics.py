"""Write facts about this host that no exporter has to a file for node_exporter.

host_metrics [--root DIRECTORY]: units that failed, are ready or restarted, wrong answers, errors of the GPU in the
kernel log, the generation, and the lease. The file is replaced at once, so that a reader never sees half of it. A
systemd timer runs this program.

Exit status: 0 written, 1 a fact could not be read (stderr says which; the former file stays), 2 usage.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import durable, local
from .. import state as switch_state
from ..contract import validated
from ..generation import ALERT, LATELY_S, SICK, HostMetrics, SickRecord
from ..local import LocalHost
from ..switch import actions, drift, starts, store
from ..switch import lease as switch_lease

Sample = tuple[str, dict[str, str], float]
"""Name, labels and value of a metric."""
CONFIG = "/etc/sparkiac/metrics.json"
FILE = "/var/lib/sparkiac/metrics/sparkiac.prom"
KINDS = {"xid": re.compile(r"NVRM: Xid \("), "no_memory": re.compile(r"NV_ERR_NO_MEMORY")}
"""Kind of message → what its lines contain; see the symptoms MON009, HST010 and LOG116."""
JOURNAL = ("timeout", "20", "journalctl", "--dmesg", "--boot", "--quiet", "--no-pager", "--output=cat")
PROPERTIES = ("ActiveState", "NRestarts", "StatusText")
FAULTS = (OSError, ValueError, RuntimeError)
HELP = {
    "sparkiac_unit_ready": ("gauge", "Whether the unit runs and answers its health check."),
    "sparkiac_unit_resting": ("gauge", "Whether the unit does not run because it is not in the current turn."),
    "sparkiac_unit_failed": ("gauge", "Whether the unit has failed and does not restart."),
    "sparkiac_unit_gave_up": ("gauge", "Whether the unit gave up; the reason is a label."),
    "sparkiac_unit_restarts_total": ("counter", "Automatic restarts of the unit since it was started."),
    "sparkiac_wrong_answer": ("gauge", "Whether the last answer that the probe requested was wrong."),
    "sparkiac_kernel_messages_total": ("counter", "Errors of the GPU in the kernel log since the boot."),
    "sparkiac_generation_known": ("gauge", "Whether a generation is committed on this host."),
    "sparkiac_generation_pending": ("gauge", "Whether a switch to a generation has begun and not ended."),
    "sparkiac_generation_changed_files": ("gauge", "Files that differ from those of the generation."),
    "sparkiac_generation_info": ("gauge", "The committed generation, as a label."),
    "sparkiac_turn_info": ("gauge", "The current turn, as a label."),
    "sparkiac_sick": ("gauge", "Whether the watch of the host found this sickness lately."),
    "sparkiac_lease_age_seconds": ("gauge", "How long an apply has held the lease; 0 without a lease."),
    "sparkiac_written_timestamp_seconds": ("gauge", "When this file was written."),
}
"""Metric → type and description."""


def unit_samples(machine: LocalHost, units: list[dict[str, Any]]) -> Iterator[Sample]:
    """Return state and restarts of each unit. For a unit of another turn, return only that it is not to run."""
    if not units:
        return
    done, found = local.shown(machine, [each["unit"] for each in units], PROPERTIES, within_s=20)
    if done.code or not all(found.get(each["unit"], {}).keys() >= set(PROPERTIES) for each in units):
        raise RuntimeError(f"unexpected output of systemctl show: {(done.errors or done.output).strip()[:200]!r}")
    resting = names_of_other_turns(machine)
    for each in units:
        state = found[each["unit"]]
        labels = {"unit": each["unit"], "deployment": each["deployment"] or ""}
        if each["unit"] in resting:
            yield "sparkiac_unit_resting", labels, 1
            continue
        yield "sparkiac_unit_ready", labels, int(state["ActiveState"] == "active")
        yield "sparkiac_unit_failed", labels, int(state["ActiveState"] == "failed")
        yield "sparkiac_unit_restarts_total", labels, int(state["NRestarts"])
        if state["ActiveState"] == "failed" and (reason := starts.gave_up(machine, each["unit"])):
            yield "sparkiac_unit_gave_up", {**labels, "reason": reason}, 1
        if each["deployment"] is not None:
            yield "sparkiac_wrong_answer", labels, int(ALERT in state["StatusText"])


def names_of_other_turns(machine: LocalHost) -> set[str]:
    """Return the units of the installed generation that do not run in the current turn."""
    if not machine.path(f"/{store.PLAN}").exists():
        return set()
    plan = store.installed(machine)
    turn = store.current_turn(plan, switch_state.read(machine).turn)
    return {unit["name"] for unit in store.resting_in(plan, turn)}


def kernel_samples(machine: LocalHost) -> Iterator[Sample]:
    """Return how many lines of each kind the kernel has logged."""
    done = machine.run(*JOURNAL)
    if done.code:
        raise RuntimeError(f"the kernel log cannot be read: {done.errors.strip()[:200]}")
    for kind, pattern in KINDS.items():
        yield "sparkiac_kernel_messages_total", {"kind": kind}, sum(1 for _ in pattern.finditer(done.output))


def state_samples(machine: LocalHost) -> Iterator[Sample]:
    """Return what is committed, whether a switch is pending, how many files differ, and the age of the lease."""
    state = switch_state.read(machine)
    yield "sparkiac_generation_known", {}, int(state.committed is not None)
    yield "sparkiac_generation_pending", {}, int(state.pending is not None)
    if state.committed is not None:
        yield "sparkiac_generation_info", {"generation": state.committed}, 1
        if state.turn is not None:
            yield "sparkiac_turn_info", {"turn": state.turn}, 1
        listed = drift.files_of(machine, state.committed) if state.pending is None else []
        changed = sum(not actions.same_file(machine, **each) for each in listed)
        yield "sparkiac_generation_changed_files", {}, changed
    lease = switch_lease.holder(machine)
    yield "sparkiac_lease_age_seconds", {}, lease["age_s"] if lease else 0


def sick(machine: LocalHost) -> list[dict[str, Any]]:
    """Return what is wrong with the machine; nothing if its watch has not run lately."""
    found = local.read_record(machine, SICK, SickRecord)
    return found["sick"] if found and time.time() - found["at_s"] < LATELY_S else []


def sick_samples(machine: LocalHost) -> Iterator[Sample]:
    """Return a sample of each sickness."""
    for each in sick(machine):
        yield "sparkiac_sick", {"kind": each["kind"], "unit": each["unit"] or ""}, 1


def samples(machine: LocalHost, config: dict[str, Any]) -> list[Sample]:
    """Return name, labels and value of every metric."""
    return [
        *unit_samples(machine, config["units"]),
        *kernel_samples(machine),
        *state_samples(machine),
        *sick_samples(machine),
        ("sparkiac_written_timestamp_seconds", {}, time.time()),
    ]


def text(found: list[Sample]) -> str:
    """Return the samples in the text format of Prometheus."""
    lines: list[str] = []
    for name, (kind, description) in HELP.items():
        own = [(labels, value) for each, labels, value in found if each == name]
        if own:
            lines += [f"# HELP {name} {description}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{braces(labels)} {value!r}" for labels, value in own]
    return "\n".join(lines) + "\n"


def braces(labels: dict[str, str]) -> str:
    """Return the labels of a sample; an empty label is left out."""
    pairs = [f'{name}="{escaped(value)}"' for name, value in sorted(labels.items()) if value]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def escaped(value: str) -> str:
    """Return the value of a label between quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def main(argv: list[str]) -> int:
    """Write the file once."""
    parser = argparse.ArgumentParser(prog="host_metrics", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="root directory of the host, for tests")
    machine = LocalHost(parser.parse_args(argv).root)
    try:
        config = validated("program", CONFIG, json.loads(machine.read(CONFIG)), HostMetrics)
        durable.write(machine.path(FILE), text(samples(machine, config)).encode(), 0o644)
    except FAULTS as error:
        sys.stderr.write(f"host_metrics: {error}\n")
        return 1
    return 0
