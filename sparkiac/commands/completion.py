"""Complete names in a shell: recipes, rules, pages, and the deployments and hosts of an inventory.

Each function is a `shell_complete` of click: it gets the context with what was typed so far, and the incomplete word.
An inventory that cannot be read completes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkiac.commands.inventories import inventories

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def recipes(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete a recipe of the catalog."""
    from sparkiac import catalog

    return _starting(incomplete, catalog.recipe_names())


def rules(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the code or the name of a rule or symptom."""
    from sparkiac.words import rules as words

    return _starting(incomplete, (*words.names(), *words.symptom_names()))


def pages(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete a page of the documentation, or one of the words after its folder."""
    from sparkiac.report import assets

    folder = "".join(f"{word}/" for word in ctx.params.get("page", ()))
    found = (name.removesuffix(".md") for name, _ in assets.files("docs") if name.endswith(".md"))
    return _starting(incomplete, (name.removeprefix(folder) for name in found if name.startswith(folder)))


def deployments(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete a deployment of the inventory."""
    return _starting(incomplete, _names(ctx, "deployments"))


def hosts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete a host of the inventory, or the last one of several that commas separate."""
    before, comma, _last = incomplete.rpartition(",")
    return _starting(incomplete, (f"{before}{comma}{name}" for name in _names(ctx, "hosts")))


def targets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete a host, deployment or service of the inventory."""
    sections = ("hosts", "deployments", "services")
    return _starting(incomplete, (name for each in sections for name in _names(ctx, each)))


def turns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete a turn of the inventory."""
    return _starting(incomplete, _names(ctx, "turns"))


def bench_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str] | list[CompletionItem]:
    """Complete the inventory and then its deployment, as `sparkiac bench` takes them."""
    from click.shell_completion import CompletionItem

    if ctx.params.get("words"):
        return _starting(incomplete, _names(ctx, "deployments"))
    return [CompletionItem(incomplete, type="file")]


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _names(ctx: click.Context, section: str) -> list[str]:
    """Return the names in a section of the typed inventory, or of the only one in `inventories`."""
    from sparkiac.source import gate

    typed = ctx.params.get("inventory") or next(iter(ctx.params.get("words") or ()), None)
    files = [Path(typed)] if typed else inventories()
    try:
        raw = files[0].read_bytes() if len(files) == 1 else b""
    except OSError:
        return []
    data = gate.read(raw, name="inventory")[0].data
    found = data.get(section) if isinstance(data, dict) else None
    return list(found) if isinstance(found, dict) else []
