"""Render PLAN.md, which shows what runs where, for the review of a change."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from sparkiac.host.generation import ChangeGroup
from sparkiac.plan import Container, HostPlan, Plan, exposure, memory_use
from sparkiac.plan.agents import ConfigFile
from sparkiac.plan.container import Program
from sparkiac.plan.exposure import OpenPort
from sparkiac.plan.fleet_timer import PlannedFleetTimer
from sparkiac.plan.memory_use import DeploymentMemory
from sparkiac.plan.values import PlannedWaiver
from sparkiac.render import labels
from sparkiac.render.templates import fill
from sparkiac.report import hints
from sparkiac.report.artifact import Artifact

PORT_HEADS: Final = ("port", "unit", "reachable from", "key")
"""Table heads of `port`."""
OWN: Final = "sparkiac"
"""Unit of a port, or reader of a secret, that belongs to sparkiac itself."""
WAIVER_HEADS: Final = ("waives", "for", "until", "reason")
"""Table heads of `waivers`."""


class RolloutWords(NamedTuple):
    """How an apply changes the hosts, in words."""

    summary: str
    batches: tuple[str, ...]
    former: str
    """What happens to former hosts; empty if there are none."""


def render(plan: Plan) -> Artifact:
    """Render PLAN.md."""
    values = {
        "name": plan.name,
        "refused": hints.unpinned_notice(plan.unpinned),
        "rollout": rollout(plan),
        "waiver_heads": WAIVER_HEADS,
        "port_heads": PORT_HEADS,
        "waivers": waivers(plan),
        "hosts": map(_host, plan.hosts),  # one after the other: all at once would take much memory
    }
    return Artifact("PLAN.md", fill("PLAN.md.j2", values))


def rollout(plan: Plan) -> RolloutWords | None:
    """Return how an apply changes the hosts; None if there is only one host."""
    if len(plan.hosts) == 1 and not plan.retired:
        return None
    groups = {host.name: host.group for host in plan.hosts}
    batches = (
        _batch(batch, groups[batch[0]], canary=n < plan.rollout.canaries) for n, batch in enumerate(plan.batches)
    )
    pause = f", {plan.rollout.pause_s} s apart" if plan.rollout.pause_s else ""
    changed = "go back too" if plan.rollout.on_failure == "back" else "keep their new generation"
    failure = f"If a host fails, the rollout stops; hosts that changed before it {changed}."
    summary = "1 batch." if len(plan.batches) == 1 else f"{len(plan.batches)} batches{pause}. {failure}"
    former = ", ".join(host.name for host in plan.retired)
    return RolloutWords(summary, tuple(batches), f"Last, sparkiac is removed from {former}." if former else "")


def waivers(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Return a row for each waiver, with the columns of WAIVER_HEADS."""
    return tuple(map(_waiver, plan.waivers))


def port(found: OpenPort) -> tuple[str, ...]:
    """Return an open port as a row, with the columns of PORT_HEADS."""
    return found.port, found.unit or OWN, found.reach, found.key or "none"


def _batch(hosts: tuple[str, ...], group: ChangeGroup | None, *, canary: bool) -> str:
    notes = (("canary",) if canary else ()) + (("a group, which changes as a whole",) if group else ())
    return ", ".join(hosts) + (f" ({': '.join(notes)})" if notes else "")


def _waiver(waiver: PlannedWaiver) -> tuple[str, ...]:
    image = f"an image built after {waiver.image_after}" if waiver.image_after else "no end"
    until = f"release {waiver.release}" if waiver.release else image
    return waiver.code, ".".join(map(str, waiver.path[:-2])) or "the fleet", until, waiver.reason


def _host(host: HostPlan) -> dict[str, Any]:
    proven = {each.name: _proof(each) for each in memory_use.of(host).accounts}
    return {
        "name": host.name,
        "address": host.address,
        "platform": host.values.title,
        "driver": host.values.driver,
        "memory_bytes": host.memory_bytes,
        "settings": host.settings,
        "memories": [
            {
                "title": title,
                "verdict": labels.verdict(use),
                "lines": labels.lines(use),
                "loading": labels.loading(use),
            }
            for title, use in memory_use.by_turn(host)
        ],
        "rows": [_row(each) | {"proof": proven.get(each.name)} for each in host.units],
        "ports": [port(each) for each in exposure.of(host)],
        "fleet_timer": _fleet_timer(host.fleet_timer) if host.fleet_timer else None,
        "documents": [_document(each) for each in host.config_files],
    }


def _fleet_timer(timer: PlannedFleetTimer) -> dict[str, Any]:
    return {
        "minutes": timer.check.period_s // 60,
        "endpoints": [each.name for each in timer.check.endpoints],
        "unwatched": [f"{each.name} on {each.host}" for each in timer.unwatched],
    }


def _proof(account: DeploymentMemory) -> dict[str, Any]:
    return {
        "facts": (*labels.facts(account), *labels.speeds(account)),
        "basis": labels.basis(account),
        "sources": labels.speed_sources(account),
        "heads": labels.STEP_HEADS,
        "steps": labels.steps(account),
    }


def _row(each: Container | Program) -> dict[str, Any]:
    own: dict[str, Any]
    if isinstance(each, Program):
        own = {"memory_bytes": None, "image": "", "user": each.user}
    else:
        own = {"memory_bytes": each.memory_bytes, "image": each.image.pull, "reference": each.image.reference}
    return own | {
        "unit": each.unit,
        "description": each.description,
        "listen": "{}:{}".format(*each.network.listen) if each.network.listen else "",
        "argv": [_shown(word) for word in each.argv],
        "ready_s": each.timeouts.ready_s,
        "stop_s": each.timeouts.stop_s,
        "links": each.dependencies,
    }


def _document(document: ConfigFile) -> dict[str, Any]:
    return {"file": f"/{document.file}", "description": document.description, "links": document.dependencies}


def _shown(word: str) -> str:
    """Escape line ends and control characters, because an unindented line would end the Markdown code block."""
    return word if word.isprintable() else json.dumps(word, ensure_ascii=False)[1:-1]
