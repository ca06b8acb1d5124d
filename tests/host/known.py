"""What the status of a host says of its software: the host is one of a group over RDMA."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sparkiac.fleet import facts
from sparkiac.fleet.query import Answer
from sparkiac.fleet.status import status
from tests.plan.fleets import PAIR, checked

if TYPE_CHECKING:
    from sparkiac.fleet.problems import Problem
    from sparkiac.plan import HostPlan

NOW_S: Final = 1_791_590_400
"""The tenth of October 2026."""
_CLOCK: Final = facts.Clock(begin_s=0, end_s=0)
_OF_OTHERS: Final = ("no NVIDIA driver", "its clock", "no generation")


def planned(locked: str | None = None) -> tuple[HostPlan, list[str]]:
    """Plan a group over two Sparks; return its first host, and the codes of all findings of the check."""
    outcome = checked(PAIR, locked=locked, hidden=frozenset())
    assert outcome.plan is not None
    return outcome.plan.hosts[0], [each.code for each in outcome.report.findings]


def about_software(found: facts.Software, locked: str | None = None) -> list[Problem]:
    """Return the problems of a host with this software that are about it."""
    return about(facts.HostFacts(clock=_CLOCK, machine=facts.MachineState(software=found)), locked)


def about_trial(found: dict[str, object] | None) -> list[Problem]:
    """Return the problems of a host whose program `kernel` says this of its last trial."""
    return about(facts.HostFacts(clock=_CLOCK, kernel=found and facts.KernelTrial.of_json(json.dumps(found))))


def about_packages(found: dict[str, object] | None, software: facts.Software | None = None) -> list[Problem]:
    """Return the problems of a host whose program `kernel` says this of its last change of packages."""
    change = found and facts.PackageChange.of_json(json.dumps(found))
    machine = facts.MachineState(software=software)
    return about(facts.HostFacts(clock=_CLOCK, machine=machine, packages=change))


def about(state: facts.HostFacts, locked: str | None = None) -> list[Problem]:
    """Return the problems of a host with these facts."""
    host, _ = planned(locked)
    answer = Answer(host.name, state, None, NOW_S, NOW_S)
    return [each for each in status(host, None, answer).problems if not each.text.startswith(_OF_OTHERS)]
