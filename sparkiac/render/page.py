"""Render the plan as one static HTML page without scripts or external resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sparkiac.plan import Container, HostPlan, Plan, memory_use
from sparkiac.plan.agents import ConfigFile
from sparkiac.plan.container import Program
from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse
from sparkiac.plan.numbers import brief_image, gib
from sparkiac.plan.parts import Dependency
from sparkiac.render import labels
from sparkiac.render.drawing import Drawing, draw
from sparkiac.render.templates import fill
from sparkiac.report import hints

_DRAWN: Final = 12
"""Maximum number of hosts in the diagram; a larger fleet is shown as a table."""
_SEVERITIES: Final = ("error", "warning", "info")
_BLANK: Final = {"file": "", "line": 0, "column": 0, "hint": "", "source": "", "number": 1, "alike": ""}
"""Defaults for the optional keys of a finding. `number` and `alike`: findings with the same cause."""


def render(plan: Plan, findings: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """Render the page. `findings` has the format of `sparkiac check --format json`."""
    found = Counter[str]()
    for each in findings:
        found[each["severity"]] += each.get("number", 1)
    values: dict[str, Any] = {
        "name": plan.name,
        "refused": hints.unpinned_notice(plan.unpinned),
        "counts": _counts(plan),
        "found": [(severity, found[severity]) for severity in _SEVERITIES if found[severity]],
        "drawings": _drawings(plan.hosts),
        "findings": sorted(
            (_BLANK | dict(each) for each in findings), key=lambda each: _SEVERITIES.index(each["severity"])
        ),
        "hosts": [_host(host) for host in plan.hosts],
        "step_heads": labels.STEP_HEADS,
    }
    lengths = {seg["letters"] for host in values["hosts"] for view in host["views"] for seg in view["segments"]}
    values["label_lengths"] = sorted(lengths, key=int)
    return fill("plan.html.j2", values)


def _counts(plan: Plan) -> list[tuple[int, str]]:
    numbers = {
        "host": len(plan.hosts),
        "deployment": len({each.name for _, each in plan.containers if each.kind == "deployment"}),
        "service": sum(
            each.path[0] != "deployments" for host in plan.hosts for each in (*host.units, *host.config_files)
        ),
    }
    return [(number, word if number == 1 else f"{word}s") for word, number in numbers.items() if number]


def _drawings(hosts: Sequence[HostPlan]) -> list[tuple[str, Drawing]]:
    """Return two diagrams: one for a wide page, and one with a single column for a narrow page."""
    if not 0 < len(hosts) <= _DRAWN:
        return []
    columns, box, gap = (min(len(hosts), 3), 280, 90) if len(hosts) <= 6 else (4, 222, 60)  # noqa: PLR2004  two rows
    return [
        ("wide", draw(hosts, columns=columns, box=box, gap=gap)),
        ("narrow", draw(hosts, columns=1, box=262, gap=0)),
    ]


def _host(host: HostPlan) -> dict[str, Any]:
    views = [_memory(title, use) for title, use in memory_use.by_turn(host)]
    return {
        "name": host.name,
        "facts": [
            fact
            for fact in (host.address, host.values.title, host.values.driver and f"driver {host.values.driver}")
            if fact
        ],
        "memory": gib(host.memory_bytes),
        "verdicts": [each["verdict"] for each in views],
        "views": views,
        "units": [_unit(each) for each in (*host.units, *host.config_files)],
        "accounts": [_account(each) for each in memory_use.of(host).accounts],
    }


def _memory(title: str, account: HostMemoryUse) -> dict[str, Any]:
    """Return the memory of a host in one turn, or with an empty title of a host without turns."""
    lines = labels.lines(account)
    return {
        "title": title,
        "verdict": labels.verdict(account),
        "lines": lines,
        "loading": labels.loading(account),
        "segments": _segments(account) if account.total_bytes else [],
        "end": _end(account),
    }


def _segments(account: HostMemoryUse) -> list[dict[str, str]]:
    """Return the segments of the memory bar, each with its share of the width in per cent."""
    known = [(part.size_bytes, part, line) for part, line in zip(account.parts, labels.lines(account), strict=False)]
    drawn = [(size, line, "assumed" if part.assumed else "") for size, part, line in known if size]
    rest = account.width_bytes - sum(size for size, _, _ in drawn)
    if rest:
        drawn.append((rest, labels.lines(account)[-1], ""))
    return [
        {
            "label": line.label,
            "letters": str(max(len(line.label), len(line.size))),
            "size": line.size,
            "kind": line.kind,
            "assumed": assumed,
            "share": f"{100 * size / account.width_bytes:.3f}",
        }
        for size, line, assumed in drawn
    ]


def _end(account: HostMemoryUse) -> str:
    """Return the position in the bar where the host's memory ends, in per cent; empty if everything fits."""
    total = account.total_bytes or 0
    return f"{100 * total / account.width_bytes:.3f}" if 0 < total < account.width_bytes else ""


def _unit(each: Container | Program | ConfigFile) -> dict[str, Any]:
    if isinstance(each, ConfigFile):
        shown = {"listen": "", "memory": "", "image": f"/{each.file}", "whole": f"/{each.file}", "model": ""}
    else:
        listen = "{}:{}".format(*each.network.listen) if each.network.listen else ""
        shown = {
            "listen": listen,
            "memory": gib(each.memory_bytes),
            "model": ", ".join(each.server.served),
            **_image(each),
        }
    links = [_link(link) for link in each.dependencies]
    return {"name": each.name, "description": each.description, "links": links, **shown}


def _image(each: Container | Program) -> dict[str, str]:
    """Return the image with a digest of 12 digits, and the full reference for the tooltip."""
    if isinstance(each, Program):
        return {"image": each.argv[0], "whole": each.argv[0]}
    return {"image": brief_image(each.image.pull), "whole": each.image.pull}


def _link(link: Dependency) -> str:
    model = f" for {link.model}" if link.model and link.model != link.name else ""
    return f"{link.name}{model} at {link.url}" if link.url else f"{link.name}{model}, but cannot reach it"


def _account(account: DeploymentMemory) -> dict[str, Any]:
    return {
        "name": account.name,
        "facts": labels.facts(account),
        "speeds": labels.speeds(account),
        "sources": labels.speed_sources(account),
        "steps": labels.steps(account),
    }
