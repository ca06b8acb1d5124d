"""PLAN.md: what runs where, for the person who reviews the change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sparkiac.artifact import Artifact
from sparkiac.plan.memory import left_bytes, taken_bytes
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan import Container, HostPlan, Plan


def render(plan: Plan) -> Artifact:
    """Render PLAN.md."""
    example = any(container.image.example for host in plan.hosts for container in host.containers)
    values = {"name": plan.name, "example": example, "hosts": [_host(host) for host in plan.hosts]}
    return Artifact("PLAN.md", fill("PLAN.md.j2", values))


def _host(host: HostPlan) -> dict[str, Any]:
    return {
        "name": host.name,
        "address": host.address,
        "platform": host.platform,
        "driver": host.driver,
        "memory_bytes": host.memory_bytes,
        "taken_bytes": taken_bytes(host),
        "left_bytes": left_bytes(host),
        "rows": [_row(container) for container in host.containers],
    }


def _row(container: Container) -> dict[str, Any]:
    return {
        "unit": container.unit,
        "description": container.description,
        "listen": "{}:{}".format(*container.listen) if container.listen else "",
        "memory_bytes": container.memory_bytes,
        "image": container.image.pull,
        "reference": container.image.reference,
        "argv": [_shown(word) for word in container.argv],
        "ready_s": container.ready_s,
        "stop_s": container.stop_s,
    }


def _shown(word: str) -> str:
    """Keep a word on its line: a code block ends where a line is not indented."""
    return word if word.isprintable() else json.dumps(word, ensure_ascii=False)[1:-1]
