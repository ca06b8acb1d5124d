"""What the rules about the proof of memory share: the servers on unified memory, each with its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.rules.shares import models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.plan.parts import Proof


def certain(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Give those whose figures rest on no assumption."""
    return (each for each in proven(plan) if each[2].assumption is None)


def proven(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Give every deployment with its proof, of a group the node that leads: all its nodes have the smallest memory."""
    for host, container in models(plan):
        if container.server.node is None or container.server.node[0] == 0:
            yield host, container, host.proofs[container.name]
