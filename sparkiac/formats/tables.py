"""The plan as tables that fit the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparkiac.plan.askers import Program
from sparkiac.plan.memory import gib, left_bytes, taken_bytes

if TYPE_CHECKING:
    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.plan.askers import Document


def print_plan(plan: Plan) -> None:
    """Print one table per host to standard output."""
    console = Console(highlight=False, emoji=False)
    for host in plan.hosts:
        console.print(_host(host))
        console.print(Text(f"{_memory(host)}\n"))
    if any(container.image.example for host in plan.hosts for container in host.containers):
        console.print(Text("Some digests are examples and name no real image.", style="yellow"))


def _host(host: HostPlan) -> Table:
    table = Table(title=Text(_title(host), style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("listens on", no_wrap=True)
    table.add_column("memory", no_wrap=True, justify="right")
    table.add_column("model or image", overflow="fold")
    for each in host.units:
        row = _program(each) if isinstance(each, Program) else _row(each)
        table.add_row(*(Text(cell) for cell in row))
    for document in host.documents:
        table.add_row(*(Text(cell) for cell in _document(document)))
    return table


def _title(host: HostPlan) -> str:
    return f"{host.name}  {host.address}  {host.platform}"


def _row(container: Container) -> tuple[str, ...]:
    listen = "{}:{}".format(*container.listen) if container.listen else "-"
    what = ", ".join(container.served) or container.description
    return container.name, listen, gib(container.memory_bytes), f"{what}\n{_short(container.image.pull)}"


def _program(program: Program) -> tuple[str, ...]:
    return program.name, "{}:{}".format(*program.listen), "-", f"{program.description}\n{program.argv[0]}"


def _document(document: Document) -> tuple[str, ...]:
    return document.name, "-", "-", f"{document.description}\n/{document.file}"


def _memory(host: HostPlan) -> str:
    total, taken, left = host.memory_bytes, taken_bytes(host), left_bytes(host)
    driver = f"driver {host.driver}; " if host.driver else ""
    return f"{driver}memory {gib(total)}: engines take {gib(taken)}, {gib(left)} are left"


def _short(pinned: str) -> str:
    """Cut a digest to the twelve digits that people compare; the files hold all of it."""
    repository, _, digest = pinned.partition("@sha256:")
    return f"{repository}@{digest[:12]}" if digest else pinned
