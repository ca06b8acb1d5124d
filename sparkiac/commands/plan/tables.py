"""The plan as tables and bars that fit the terminal, readable without colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sparkiac.formats import terminal
from sparkiac.plan import Container, HostPlan, Plan, labels, memory_use, verdict
from sparkiac.plan.container import ConfigFile, Program
from sparkiac.plan.labels import MemoryRow, RolloutWords
from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse
from sparkiac.plan.numbers import gib
from sparkiac.report import hints

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
_VERDICTS: Final = {"fits": "bold green", "tight": "bold yellow", "does not fit": "bold red", "unknown": "bold magenta"}
"""Word of a verdict → its colour."""
_SHORT: Final = 34
"""Maximum length of a source beside its size."""
_LEFT: Final = ("free", "unsure")


def print_plan(plan: Plan) -> None:
    """Print each host with its units, its memory, and the expected speed of its deployments."""
    width, notes = terminal.width(), _Footnotes()
    terminal.show(part for host in plan.hosts for part in _host(host, notes, width=width))
    if notes.known:
        terminal.show([Text("Where sizes come from:"), terminal.grid(notes.rows()), Text()])
    if (words := labels.rollout(plan)) is not None:
        terminal.show(_rollout(words))
    if plan.unpinned:
        terminal.show([Text(hints.unpinned_notice(plan.unpinned), style="yellow")])


def _rollout(words: RolloutWords) -> Iterator[RenderableType]:
    yield Text("rollout", style="bold")
    yield Text()
    yield Text(words.summary)
    yield terminal.grid((f"{number}.", hosts) for number, hosts in enumerate(words.batches, 1))
    if words.former:
        yield Text(words.former)
    yield Text()


class _Footnotes:
    """Long sources, each printed once below all hosts."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def mark(self, line: MemoryRow) -> str:
        """Return a short source, or the number of a long one."""
        if len(line.source_text) <= _SHORT or line.kind in _LEFT:
            return line.source_text
        number = self.known.setdefault(line.source, len(self.known) + 1)
        return f"assumed [{number}]" if line.assumed else f"[{number}]"

    def rows(self) -> list[tuple[str, str]]:
        """Return the number and text of each source."""
        return [(f"[{number}]", source) for source, number in self.known.items()]


def _host(host: HostPlan, notes: _Footnotes, *, width: int) -> Iterator[RenderableType]:
    yield Text(f"{host.name}  {host.address}  {host.values.title}", style="bold")
    yield Text()
    if host.units or host.config_files:
        yield _units(host)
        yield Text()
    driver = f", driver {host.values.driver}" if host.values.driver else ""
    yield Text(f"memory {gib(host.memory_bytes)}{driver}")
    for title, use in memory_use.by_turn(host):
        if title:
            yield Text(title, style="bold")
        yield from _memory(use, notes, width=width)
        yield Text()
    for each in memory_use.of(host).accounts:
        yield from _deployment(each)


def _memory(account: HostMemoryUse, notes: _Footnotes, *, width: int) -> Iterator[RenderableType]:
    found = verdict.of(account)
    yield Text.assemble((found.word, _VERDICTS[found.word]), f": {found.reason}")
    if account.total_bytes:
        yield bar(account, width=width)
    if account.total_bytes and account.width_bytes > account.total_bytes:
        yield _end(account, width=width)
    yield _legend(account, notes)


def bar(account: HostMemoryUse, *, width: int) -> Text:
    """Return a bar of a host's memory, `width` columns wide. If the parts do not fit, the bar shows all of them."""
    drawn, done = Text(no_wrap=True), 0
    for part in account.parts:
        before, done = _column(account, done, width), done + (part.size_bytes or 0)
        fill, style = _FILLS[part.kind]
        drawn.append(fill * (_column(account, done, width) - before), style)
    fill, style = _FILLS[labels.free(account)]
    drawn.append(fill * (width - len(drawn)), style)
    return drawn


def _column(account: HostMemoryUse, size_bytes: int, width: int) -> int:
    return round(size_bytes * width / account.width_bytes)


def _end(account: HostMemoryUse, *, width: int) -> Text:
    """Return a mark below the column at which the memory ends."""
    column = _column(account, account.total_bytes or 0, width)
    words = "the memory ends here "
    return Text(f"{words:>{max(column, len(words))}}^", style="red", no_wrap=True)


def _units(host: HostPlan) -> Table:
    table = terminal.table("name", "listens on", "memory", "model or image", right=("memory",))
    for each in host.units:
        row = _program(each) if isinstance(each, Program) else _row(each)
        table.add_row(*(Text(cell) for cell in row))
    for document in host.config_files:
        table.add_row(*(Text(cell) for cell in _document(document)))
    return table


def _row(container: Container) -> tuple[str, ...]:
    listen = "{}:{}".format(*container.network.listen) if container.network.listen else "-"
    what = ", ".join(container.server.served) or container.description
    return container.name, listen, gib(container.memory_bytes), f"{what}\n{terminal.brief_image(container.image.pull)}"


def _program(program: Program) -> tuple[str, ...]:
    listen = "{}:{}".format(*program.listen)
    return program.name, listen, gib(program.memory_bytes), f"{program.description}\n{program.argv[0]}"


def _document(document: ConfigFile) -> tuple[str, ...]:
    return document.name, "-", "-", f"{document.description}\n/{document.file}"


def _legend(account: HostMemoryUse, notes: _Footnotes) -> RenderableType:
    made = Table.grid(padding=(0, 1))
    for justify in ("left", "left", "right", "left"):
        made.add_column(justify=justify, overflow="fold")
    for line in labels.lines(account):
        fill, style = _FILLS[line.kind]
        made.add_row(Text(fill, style), Text(line.label), Text(line.size), Text(notes.mark(line), style="dim"))
    return made


def _deployment(account: DeploymentMemory) -> Iterator[RenderableType]:
    yield Text(account.name, style="bold")
    yield terminal.grid([tuple(fact) for fact in (*labels.facts(account), *labels.speeds(account))])
    sources = labels.speed_sources(account)
    if sources:
        yield terminal.grid([(Text(f"{labels.basis(account)} {'; '.join(sources)}", style="dim"),)])
    steps = labels.steps(account)
    if steps:
        yield Text()
        yield _steps(steps)
    yield Text()


def _steps(steps: tuple[tuple[str, ...], ...]) -> Table:
    table = terminal.table(*labels.STEP_HEADS, right=labels.STEP_HEADS[:-1])
    for step in steps:
        table.add_row(*(Text(cell) for cell in step), style="bold" if step[-1] == labels.CURRENT else "")
    return table
