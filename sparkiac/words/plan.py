"""The plan, and its comparison with a startup log, as pages and as plain data; docs/plan.md has the keys.

Tables and bars are readable without colours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sparkiac.memory.values import GIB
from sparkiac.model.records import StartSubject
from sparkiac.plan import Container, HostPlan, Plan, memory_use
from sparkiac.plan.agents import ConfigFile
from sparkiac.plan.container import Program
from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse
from sparkiac.plan.numbers import brief_image, count, gib
from sparkiac.plan.startup_log import SIZES, StartupComparison
from sparkiac.render import labels, summary
from sparkiac.render.labels import MemoryRow, verdict
from sparkiac.report import hints
from sparkiac.report.characters import escaped
from sparkiac.resolve import Explained
from sparkiac.words.page import (
    BAD,
    Blocks,
    Data,
    Grid,
    Line,
    Row,
    Table,
    Verbatim,
    grid,
    line,
    plain,
    ranges,
    styled,
    table,
)

_FILLS: Final = {
    "weights": ("█", "blue"),
    "runtime": ("▓", "cyan"),
    "cache": ("▒", "green"),
    "share": ("▚", "magenta"),
    "service": ("▞", "yellow"),
    "reserve": ("░", "default"),
    "free": ("·", "dim"),
    "unsure": ("?", "dim"),
}
"""Kind of a part → its character and colour."""
_VERDICTS: Final = {"fits": "bold green", "tight": "bold yellow", "does not fit": BAD, "unknown": "bold magenta"}
"""Word of a verdict → its colour."""
_SHORT: Final = 34
"""Maximum length of a source beside its size."""
_LEFT: Final = ("free", "unsure")
_KEYS: Final = {
    "config_files": "documents",
    "dependencies": "links",
    "pre_start": "prelude",
    "start_order": "starts",
    "superseded": "cautions",
}
"""Field of the plan → its key in JSON, if they differ: programs read the keys, so they must not change with a field."""

_REPLACED: Final = frozenset({"budget", "proofs", "turn", "turns"})
"""Fields of a host that are written in another form."""
LOOKED_FOR: Final = (
    "Model loading took … GiB",
    "Available KV cache memory: … GiB",
    "Graph capturing finished in … took … GiB",
    "Free memory on device … (…/… GiB)",
    "Desired GPU memory utilization is (…, … GiB)",
    "GPU KV cache size: … tokens",
    "Maximum concurrency for … tokens per request: …x",
)
"""Lines of a vLLM log that are read."""
NOTHING: Final = f"it has no memory figures of vLLM, such as: {'; '.join(LOOKED_FOR)}"


def tables(plan: Plan, width: int) -> Blocks:
    """Return each host with its units, its memory, and the expected speed of its deployments."""
    notes: dict[str, int] = {}
    for host in plan.hosts:
        yield from _host(host, notes, width)
    if notes:
        yield "Where sizes come from:"
        yield grid((f"[{number}]", source) for source, number in notes.items())
        yield ""
    yield from _rollout(plan)
    if rows := summary.waivers(plan):
        yield from (styled("waivers", "bold"), "", table(summary.WAIVER_HEADS, rows), "")
    users: dict[str, list[str]] = {}
    for name, text in plan.method_defaults:
        users.setdefault(text, []).append(name)
    yield from (f"{ranges(found, '…')}: the speculative method adds {text}\n" for text, found in users.items())
    if plan.unpinned:
        yield styled(hints.unpinned_notice(plan.unpinned), "yellow")


def _rollout(plan: Plan) -> Blocks:
    words = summary.rollout(plan)
    if words is None:
        return
    yield from (styled("rollout", "bold"), "", words.summary)
    yield grid((f"{number}.", hosts) for number, hosts in enumerate(words.batches, 1))
    if words.former:
        yield words.former
    yield ""


def _marked(line: MemoryRow, notes: dict[str, int]) -> str:
    """Return a short source, or the number of a long one, which is printed once below all hosts."""
    if len(line.source_text) <= _SHORT or line.kind in _LEFT:
        return line.source_text
    number = notes.setdefault(line.source, len(notes) + 1)
    return f"assumed [{number}]" if line.assumed else f"[{number}]"


def _host(host: HostPlan, notes: dict[str, int], width: int) -> Blocks:
    yield from (styled(f"{host.name}  {host.address}  {host.values.title}", "bold"), "")
    if host.units or host.config_files:
        yield from (_units(host), "")
    driver = f", driver {host.values.driver}" if host.values.driver else ""
    yield f"memory {gib(host.memory_bytes)}{driver}"
    yield from (f"{each.key} {each.shown}" for each in host.settings)
    for title, use in memory_use.by_turn(host):
        if title:
            yield styled(title, "bold")
        yield from _memory(use, notes, width)
        yield ""
    for each in memory_use.of(host).accounts:
        yield from _deployment(each)


def _memory(account: HostMemoryUse, notes: dict[str, int], width: int) -> Blocks:
    found = verdict(account)
    yield line((found.word, _VERDICTS[found.word]), f": {found.reason}")
    if account.total_bytes:
        yield bar(account, width)
    if account.total_bytes and account.width_bytes > account.total_bytes:
        yield _end(account, width)
    yield Grid(tuple(_legend(account, notes)), right=2, gap=1, indent=0)
    if loads := labels.loading(account):
        yield f"servers: {loads}"


def bar(account: HostMemoryUse, width: int) -> Line:
    """Return a bar of a host's memory, `width` columns wide. If the parts do not fit, the bar shows all of them."""
    drawn, done = list[tuple[str, str]](), 0
    for part in account.parts:
        before, done = _column(account, done, width), done + (part.size_bytes or 0)
        fill, style = _FILLS[part.kind]
        drawn.append((fill * (_column(account, done, width) - before), style))
    fill, style = _FILLS[labels.free(account)]
    drawn.append((fill * (width - sum(len(each) for each, _ in drawn)), style))
    return Line(tuple(drawn), wraps=False)


def _column(account: HostMemoryUse, size_bytes: int, width: int) -> int:
    return round(size_bytes * width / account.width_bytes)


def _end(account: HostMemoryUse, width: int) -> Line:
    """Return a mark below the column at which the memory ends."""
    column = _column(account, account.total_bytes or 0, width)
    words = "the memory ends here "
    return Line((f"{words:>{max(column, len(words))}}^",), "red", wraps=False)


def _units(host: HostPlan) -> Table:
    rows = (*map(_unit, host.units), *map(_document, host.config_files))
    return table(("name", "listens on", "memory", "model or image"), rows, right=("memory",))


def _unit(unit: Container | Program) -> Row:
    listen = "{}:{}".format(*unit.network.listen) if unit.network.listen else "-"
    if isinstance(unit, Program):
        what = f"{unit.description}\n{unit.argv[0]}"
    else:
        what = f"{', '.join(unit.server.served) or unit.description}\n{brief_image(unit.image.pull)}"
    return unit.name, listen, gib(unit.memory_bytes), what


def _document(document: ConfigFile) -> Row:
    return document.name, "-", "-", f"{document.description}\n/{document.file}"


def _legend(account: HostMemoryUse, notes: dict[str, int]) -> Iterator[Row]:
    for each in labels.lines(account):
        yield styled(*_FILLS[each.kind]), each.label, each.size, styled(_marked(each, notes), "dim")


def _deployment(account: DeploymentMemory) -> Blocks:
    yield styled(account.name, "bold")
    yield grid((*labels.facts(account), *labels.speeds(account)))
    if sources := labels.speed_sources(account):
        yield grid([(styled(f"{labels.basis(account)} {'; '.join(sources)}", "dim"),)])
    if steps := labels.steps(account):
        current = [index for index, step in enumerate(steps) if step[-1] == labels.CURRENT]
        yield from ("", table(labels.STEP_HEADS, steps, right=labels.STEP_HEADS[:-1], strong=current))
    yield ""


def data(plan: Plan) -> Data:
    """Return a plan as mappings and lists. An unknown value is {"unknown": [names of the missing facts]}."""
    data: Data = plain(plan, _KEYS)
    return data | {"hosts": [_host_data(host) for host in plan.hosts]}


def explained(found: Iterable[Explained]) -> list[Data]:
    """Return each value with its layers; the value that is used comes first."""
    return [
        {"path": each.path, "said": [{"value": value, "from": str(origin)} for value, origin in reversed(each.values)]}
        for each in found
    ]


def explained_text(found: Iterable[Explained]) -> str:
    """Return each value with its layer, and below it the values that it overrides."""
    return "".join(f"{line}\n" for each in found for line in _lines(each))


def _lines(each: Explained) -> Iterator[str]:
    (value, origin), *others = reversed(each.values)
    yield f"{each.path}: {_written(value)}"
    yield f"  from {origin}"
    for former, place in others:
        yield f"  over {_written(former)} of {place}"


def _written(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def _host_data(host: HostPlan) -> Data:
    rest = {key: value for key, value in plain(host, _KEYS).items() if key not in _REPLACED}
    used = memory_use.by_turn(host)
    turns = [
        {"name": turn.name, "at": turn.at, "units": sorted(turn.units), "memory": _memory_data(each.use)}
        for turn, each in zip(host.turns, used, strict=False)
    ]
    return rest | {"memory": _memory_data(used[0].use), "turns": turns}


def _memory_data(use: HostMemoryUse) -> Data:
    data: Data = plain(use, _KEYS)
    return data | {"verdict": verdict(use)._asdict()}


def log_data(found: StartupComparison | None, target: Path) -> Data:
    """Return {"compared": [{name, computed, measured, error}], "record": PATH, "total_gib": …, "notes": […]}."""
    rows = [
        {"name": row.name, "computed": row.predicted, "measured": row.measured, "error": round(row.error, 4)}
        for row in (found.compared if found else ())
    ]
    total = None if found is None or found.total_bytes is None else total_gib(found.total_bytes)
    return {"compared": rows, "record": str(target), "total_gib": total, "notes": list(found.notes) if found else []}


def log_page(found: StartupComparison | None, target: Path, subject: StartSubject) -> Blocks:
    """Return the comparison, the path of the record, and the facts that the record still needs."""
    if found is not None:
        yield from compared(found)
    yield f"Recorded in {target}."
    missing = [what for what, value in (("image", subject.digest), ("model", subject.commit)) if value is None]
    if missing:
        yield styled(f"The plan does not use it: the lock has no {' and no '.join(missing)}.", "yellow")
    if found is not None and found.total_bytes is not None:
        yield f"Add to the inventory, under hosts.{found.host}:"
        yield Verbatim(f"  memory: {{total_gib: {total_gib(found.total_bytes):g}}}")


def compared(found: StartupComparison) -> Blocks:
    """Return the comparison."""
    if found.compared:
        heads = ("", "computed", "measured", "error")
        rows = (
            (row.name, _figure(row.name, row.predicted), _figure(row.name, row.measured), f"{100 * row.error:+.1f} %")
            for row in found.compared
        )
        yield from (table(heads, rows, right=heads[1:]), "")
    yield from (styled(note, "yellow") for note in found.notes)


def total_gib(size_bytes: int) -> float:
    """Return a total rounded to 0.01 GiB, as in the log."""
    return round(size_bytes / GIB, 2)


def _figure(name: str, value: float) -> str:
    if name in SIZES:
        return f"{value / GIB:.2f} GiB"
    return f"{value:.2f}" if name == "concurrency" else count(round(value))
