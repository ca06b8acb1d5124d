"""PLAN.md: what runs where, for the person who reviews the change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sparkiac import hints
from sparkiac.artifact import Artifact
from sparkiac.plan import accounts, figures
from sparkiac.plan.askers import Program
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.plan.accounts import DeploymentMemory
    from sparkiac.plan.askers import ConfigFile, Dependency


def render(plan: Plan) -> Artifact:
    """Render PLAN.md."""
    values = {
        "name": plan.name,
        "refused": hints.unpinned_notice(plan.unpinned),
        "hosts": [_host(host) for host in plan.hosts],
    }
    return Artifact("PLAN.md", fill("PLAN.md.j2", values))


def _host(host: HostPlan) -> dict[str, Any]:
    account = accounts.of(host)
    proven = {each.name: _proof(each) for each in account.accounts}
    return {
        "name": host.name,
        "address": host.address,
        "platform": host.platform,
        "driver": host.driver,
        "memory_bytes": host.memory_bytes,
        "lines": figures.lines(account),
        "rows": [
            (_program(each) if isinstance(each, Program) else _row(each)) | {"proof": proven.get(each.name)}
            for each in host.units
        ],
        "documents": [_document(each) for each in host.documents],
    }


def _proof(account: DeploymentMemory) -> dict[str, Any]:
    return {
        "facts": (*figures.facts(account), *figures.speeds(account)),
        "sources": figures.speed_sources(account),
        "heads": figures.STEP_HEADS,
        "steps": figures.steps(account),
    }


def _row(container: Container) -> dict[str, Any]:
    return {
        "unit": container.unit,
        "description": container.description,
        "listen": "{}:{}".format(*container.network.listen) if container.network.listen else "",
        "memory_bytes": container.memory_bytes,
        "image": container.image.pull,
        "reference": container.image.reference,
        "argv": [_shown(word) for word in container.argv],
        "ready_s": container.timeouts.ready_s,
        "stop_s": container.timeouts.stop_s,
        "links": _links(container.links),
    }


def _program(program: Program) -> dict[str, Any]:
    return {
        "unit": program.unit,
        "description": program.description,
        "listen": "{}:{}".format(*program.listen),
        "memory_bytes": None,
        "image": "",
        "user": program.user,
        "argv": [_shown(word) for word in program.argv],
        "ready_s": program.timeouts.ready_s,
        "stop_s": program.timeouts.stop_s,
        "links": _links(program.links),
    }


def _document(document: ConfigFile) -> dict[str, Any]:
    return {"file": f"/{document.file}", "description": document.description, "links": _links(document.links)}


def _links(links: tuple[Dependency, ...]) -> list[dict[str, str]]:
    """Say what is asked, at which address, and with whose key."""
    return [
        {"name": link.name, "url": link.url or "", "key": link.secret or "", "model": link.model or ""}
        for link in links
    ]


def _shown(word: str) -> str:
    """Keep a word on its line: a code block ends where a line is not indented."""
    return word if word.isprintable() else json.dumps(word, ensure_ascii=False)[1:-1]
