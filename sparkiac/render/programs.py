"""Render a program on the host: its unit, its environment file and its configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac.plan.dependents import Program
from sparkiac.plan.deployments import PROGRAMS
from sparkiac.render import escape, yamltext
from sparkiac.render.compose import export_lines
from sparkiac.render.templates import fill
from sparkiac.report.artifact import Artifact

_TEMPLATE: Final = "host/etc/systemd/system/hermes-agent.service.j2"


def render(program: Program, unit_path: str, *, after: list[str], longest_delay_s: int) -> Iterator[Artifact]:
    """Render the files of a program."""
    yield Artifact(unit_path, fill(_TEMPLATE, _unit(program, after, longest_delay_s)))
    environment, config = paths(program)
    lines = (escape.environment_file(name, value) for name, value in program.env.items())
    yield Artifact(environment, "".join((yamltext.HEADER, *(f"{line}\n" for line in lines))).encode())
    yield Artifact(config, yamltext.generated(program.config))


def paths(program: Program) -> tuple[str, str]:
    """Return the paths of its environment file and its configuration file on the host."""
    base = f"etc/sparkiac/{program.name}"
    return f"{base}/environment", f"{base}/config.yaml"


def _unit(program: Program, after: list[str], longest_delay_s: int) -> dict[str, Any]:
    files = {secret.name: secret.target for secret in program.secrets}
    lines = ["set -eu", *(line for export in program.exports for line in export_lines(export, files)), 'exec "$@"']
    return {
        "name": program.name,
        "description": program.description,
        "after": after,
        "program": program.argv[0],
        "state": program.state,
        "user": program.user,
        "secrets": [secret.name for secret in program.secrets],
        "start": ("/bin/sh", "-c", "; ".join(lines), "sh", *program.argv),
        "probe": _probe(program),
        **program.timeouts.model_dump(),
        "restart_max_s": max(longest_delay_s, program.timeouts.restart_delay_s),
    }


def _probe(program: Program) -> tuple[str, ...]:
    """Return the probe command. An agent is checked for health and model names: one of its answers may take minutes."""
    # The probe times out before systemd does, so that its message appears in the journal.
    wait_s = max(program.timeouts.ready_s - 10, program.timeouts.ready_s // 2, 1)
    return (f"{PROGRAMS}/probe.py", "check", "--wait", str(wait_s), program.unit)
