"""Helpers for rules about memory: each vLLM server with the calculation of whether it fits on its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.rules.shares import models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.plan.parts import Proof


def certain(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Return the deployments whose memory is calculated without assumptions."""
    return (each for each in proven(plan) if each[2].assumption is None)


def proven(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Return each deployment with its memory calculation; a group counts once, because all its nodes use the same."""
    for host, container in models(plan):
        if container.server.leads:
            yield host, container, host.proofs[container.name]
