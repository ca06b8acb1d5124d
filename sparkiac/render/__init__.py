"""Render the plan as files. There is one module per kind of file, and none makes decisions."""

from __future__ import annotations

from sparkiac.plan import Plan
from sparkiac.report.artifact import Artifact


def render(plan: Plan) -> tuple[Artifact, ...]:
    """Render the whole output tree, sorted by path."""
    # `plan` reads the labels of this package alone, and needs no template engine.
    from sparkiac.render import ansible, builds, hosts, staging, summary  # noqa: PLC0415

    versions = hosts.versions(plan)
    on_hosts = {host.name: hosts.render(host, versions) for host in plan.hosts}
    artifacts = [artifact for found in on_hosts.values() for artifact in found]
    artifacts += ansible.render(plan, on_hosts)
    artifacts += builds.render(plan)
    artifacts += staging.render(plan)
    artifacts += hosts.networks(plan)
    artifacts.append(summary.render(plan))
    return tuple(sorted(artifacts, key=lambda artifact: artifact.path))
