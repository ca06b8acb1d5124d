"""Applies facts to the deployments of a plan, and to the pinned software of its hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac import catalog
from sparkiac.catalog import interfaces
from sparkiac.catalog.evidence import Fact
from sparkiac.host import conditions
from sparkiac.host.conditions import holds
from sparkiac.host.software import HostValues
from sparkiac.plan import HostPlan
from sparkiac.report import REMOVE, Edit, Path, Severity
from sparkiac.rules.rule import Hit
from sparkiac.rules.subject import Subject

_ANY: Final = "any"
_DEEP: Final = frozenset({"set", "env", "container"})
"""Settings whose keys are leaves of their own; of others, the whole setting is one leaf."""


def find(subjects: Iterable[Subject], facts: tuple[Fact, ...]) -> Iterator[Hit]:
    """Find the deployments that facts apply to."""
    for subject in subjects:
        yield from (_hit(fact, subject) for fact in facts if applies(fact, subject))


def find_hosts(hosts: Iterable[HostPlan], facts: tuple[Fact, ...]) -> Iterator[Hit]:
    """Find the hosts to whose pinned software facts apply."""
    for host in hosts:
        known = host.preflight.host_facts
        if known is None or host.pins is None or host.gpu is None:
            continue
        cmdline = " ".join((host.pins.cmdline or "", *host.values.boot_words))
        values = HostValues({**host.pins.model_dump(), "cmdline": cmdline}, rdma=known.rdma)
        for fact in facts:
            if _runs_on(fact, host) and holds(fact.when, values):
                message = f"{host.name}: {conditions.text(fact.message, values)}"
                yield Hit(("hosts", host.name), message, fact.hint, host=host.name, severity=fact.severity)


def _runs_on(fact: Fact, host: HostPlan) -> bool:
    """Return whether a fact is about hosts with this GPU."""
    hardware = fact.hardware or catalog.gpu().compute_capability
    return hardware == _ANY or (host.gpu is not None and host.gpu.compute_capability == hardware)


def applies(fact: Fact, subject: Subject) -> bool:
    """Return whether a deployment is in the scope of a fact and meets its condition."""
    return (
        fact.engine in (_ANY, subject.container.server.engine)
        and _runs_on(fact, subject.host)
        and (fact.releases is None or fact.releases.include(subject.release))
        and holds(fact.when, subject)
    )


def _hit(fact: Fact, subject: Subject) -> Hit:
    key, inside = _split(fact.at)
    path, host = subject.container.path, subject.host.name
    fix = tuple(Edit((*path, *name.split(".")), REMOVE if to is None else to) for name, to in (fact.fix or {}).items())
    return Hit(
        (*path, *key),
        subject.text(fact.message),
        subject.text(fact.hint),
        leaf=(*path, host, *key),
        host=host,
        severity=_severity(fact, subject),
        fix=fix,
        inside=inside,
        sources=tuple(each.source for each in (*fact.evidence, *fact.against)),
    )


def _severity(fact: Fact, subject: Subject) -> Severity:
    """Return the fact's severity.

    A fact that is proven for upstream releases is only likely in builds by others, which may be patched. It does not
    apply to releases that are newer than all that were read.
    """
    if fact.releases is None or subject.release is None:
        return fact.severity
    newest = interfaces.release(interfaces.versions()[-1])
    if fact.releases.before is None and interfaces.release(subject.release) > newest:
        return Severity.INFO
    return fact.severity if subject.upstream else min(fact.severity, Severity.WARNING)


def _split(at: str) -> tuple[Path, Path]:
    """Split the position of a fact into the path of a leaf and the keys inside its value."""
    space, *rest = at.split(".")
    depth = 1 if space in _DEEP else 0
    return (space, *rest[:depth]), tuple(rest[depth:])
