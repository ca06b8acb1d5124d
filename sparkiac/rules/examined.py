"""A plan with the values that several rules read of it."""

from __future__ import annotations

from functools import cached_property

from sparkiac.plan import Plan
from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.subject import Subject


class Examined:
    """A plan that rules are run over. What several rules read is computed once, when the first of them reads it."""

    def __init__(self, plan: Plan) -> None:
        """Examine a plan."""
        self.plan = plan

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        """The deployments that facts are about; for a group, only its leader."""
        return tuple(
            Subject(host, container)
            for host, container in self.plan.containers
            if container.server.engine is not None and container.server.leads
        )

    @cached_property
    def faults(self) -> tuple[ServerFault, ...]:
        """The faults in the options of vLLM deployments."""
        return tuple(release.faults(self.plan))
