"""The inventory, and the deployment in it that logs belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from sparkiac.commands.inputs import known, planned

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sparkiac.fleet.diagnosis.lines import Log
    from sparkiac.pipeline import InputFile
    from sparkiac.plan.container import Container
    from sparkiac.plan.values import HostPlan, Plan
    from sparkiac.report import Report


class Context(NamedTuple):
    """A deployment of an inventory."""

    files: tuple[InputFile, InputFile | None]
    report: Report
    """Findings of the inventory before any proposed change."""
    containers: tuple[tuple[HostPlan, Container], ...]
    """The deployment on each of its hosts, the leader first."""

    @property
    def host(self) -> HostPlan:
        """The host that answers requests."""
        return self.containers[0][0]

    @property
    def container(self) -> Container:
        """The container that answers requests."""
        return self.containers[0][1]


def load(inventory: Path, deployment: str | None, logs: Iterable[Log], output_format: str) -> Context:
    """Return the deployment with a name, or the one that logs belong to. Raises `click.UsageError`."""
    files, plan, report = planned(inventory, output_format)
    names = deployments(plan)
    if deployment is None:
        deployment = _of_logs(names, logs)
    return Context(files, report, names[known("deployment", deployment, names)])


def deployments(plan: Plan) -> dict[str, tuple[tuple[HostPlan, Container], ...]]:
    """Return deployment → its containers with their hosts, the leader first."""
    found: dict[str, list[tuple[HostPlan, Container]]] = {}
    for host in plan.hosts:
        for container in host.containers:
            if container.kind == "deployment":
                found.setdefault(container.name, []).append((host, container))
    return {name: tuple(sorted(each, key=lambda pair: not pair[1].server.leads)) for name, each in found.items()}


def _of_logs(names: dict[str, tuple[tuple[HostPlan, Container], ...]], logs: Iterable[Log]) -> str:
    """Return the only deployment, or the only one with the model of the logs."""
    from sparkiac.fleet.diagnosis.matching import DiagnosedServer

    models = DiagnosedServer.of_log(line for log in logs for line in log.last).models
    fitting = [name for name, pairs in names.items() if pairs[0][1].server.model in models]
    for candidates in (list(names), fitting):
        if len(candidates) == 1:
            return candidates[0]
    message = f"name the deployment that the log belongs to: --deployment {'|'.join(names)}"
    raise click.UsageError(message, click.get_current_context())
