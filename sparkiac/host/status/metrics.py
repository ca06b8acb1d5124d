"""Write facts about this host that no exporter has to a file for node_exporter.

host_metrics [--root DIRECTORY]: units that failed, are ready or restarted, wrong answers, errors of the GPU in the
kernel log, the generation, and the lease. The file is replaced at once, so that a reader never sees half of it. A
systemd timer runs this program.

Exit status: 0 written, 1 a fact could not be read (stderr says which; the former file stays), 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from .. import durable
from ..contract import validated
from ..generation import HostMetrics
from ..local import LocalHost
from . import metrics_kernel, metrics_state, metrics_units

CONFIG = "/etc/sparkiac/metrics.json"
FILE = "/var/lib/sparkiac/metrics/sparkiac.prom"
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
    "sparkiac_lease_age_seconds": ("gauge", "How long an apply has held the lease; 0 without a lease."),
    "sparkiac_written_timestamp_seconds": ("gauge", "When this file was written."),
}
"""Metric → type and description."""


def samples(machine: LocalHost, config: dict[str, Any]) -> list[tuple[str, dict[str, str], float]]:
    """Return name, labels and value of every metric."""
    return [
        *metrics_units.samples(machine, config["units"]),
        *metrics_kernel.samples(machine),
        *metrics_state.samples(machine),
        ("sparkiac_written_timestamp_seconds", {}, time.time()),
    ]


def text(found: list[tuple[str, dict[str, str], float]]) -> str:
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
