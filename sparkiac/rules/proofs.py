"""Helpers for rules about memory proofs: the servers on unified memory, each with its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.rules.shares import models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.plan.parts import Proof


def certain(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Return the deployments whose proof rests on no assumption."""
    return (each for each in proven(plan) if each[2].assumption is None)


def proven(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Return every deployment with its proof; for a group, its leader: all nodes use the smallest memory."""
    for host, container in models(plan):
        if container.server.leads:
            yield host, container, host.proofs[container.name]
