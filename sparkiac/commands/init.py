"""`sparkiac init`: a repository for a fleet, right from its first commit."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import exit_code, known, printable, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.commands.repository import Asked, Host

_STORE: Final = "/srv/models"
_NEXT: Final = """\
made {target}: {count} files. Next:
  cd {target}
  sparkiac lock inventories/{name}.yaml
  sparkiac generate inventories/{name}.yaml
README.md says the rest.
"""


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=".", metavar="[DIR]")
@click.option("--name", help="Name of the fleet; that of DIR if not given.")
@click.option("--host", "hosts", metavar="NAME=ADDRESS", multiple=True, help="A machine; again for more.")
@click.option("--from-host", "asked", metavar="[USER@]ADDRESS", multiple=True, help="A machine that is asked over ssh.")
@click.option("--recipe", metavar="RECIPE", help="What it serves: vendor/name or vendor/name#variant of the catalog.")
@click.option("--import", "source", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Or a file.")
@click.option("--user", help="Login name for Ansible, which needs sudo; that of the caller if not given.")
@click.option("--model-store", "store", metavar="PATH", help=f"Where weights lie on the hosts; {_STORE} if not given.")
def init(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    directory: Path,
    name: str | None,
    hosts: tuple[str, ...],
    asked: tuple[str, ...],
    recipe: str | None,
    source: Path | None,
    user: str | None,
    store: str | None,
) -> int:
    """Make a repository for a fleet in DIR, or here.

    Its inventory serves a recipe of the catalog, or what a file by other hands starts (--import, as `sparkiac import`
    reads it). --from-host asks a machine over ssh for its memory, driver, links and disks. On a terminal, what no
    option says is asked. An existing file is never overwritten, and after a failure there is no new one.

    Exits 0, 1 when the inventory has findings, 2 on wrong answers, 6 when a file cannot be written.
    """
    from sparkiac.commands import repository

    if source is not None and (recipe is not None or store is not None):
        message = "--import says what is served and where weights lie; leave --recipe and --model-store out"
        raise click.UsageError(message)
    target = printable(directory.resolve())
    name = _name(name, target)
    _refuse_taken(target, name)
    places = _hosts(hosts, asked, store or _STORE)
    user = user or next((host.user for host in places if host.user), None)
    if source is None:
        recipe = _recipe(recipe)
    user = _matching("--user", "USER", user or _answer("Login name on the hosts, empty for your own", ""))
    if source is None:
        store = _matching("--model-store", "PATH", store or _answer("Where weights lie on the hosts", _STORE))
    fleet = repository.Asked(name, places, user or None, store or _STORE)
    text = _drafted(fleet, source) if source else _served(fleet, recipe or "")
    return _write(fleet, target, text)


def _answer(question: str, default: str | None) -> str:
    """Ask on a terminal; elsewhere the default is the answer."""
    if not sys.stdin.isatty():
        return default or ""
    return str(click.prompt(question, default=default, err=True, show_default=bool(default))).strip()


def _needed(question: str, flag: str) -> str:
    """Ask on a terminal; elsewhere name the flag."""
    if not sys.stdin.isatty():
        message = f"{flag} is missing, and there is no terminal to ask on"
        raise click.UsageError(message)
    return _answer(question, None)


def _matching(flag: str, form: str, text: str) -> str:
    """Give a text back that is of a form of the inventory's, or empty."""
    from sparkiac.model import forms

    if text and not re.fullmatch(getattr(forms, form), text):
        message = f"{flag} {text!r} is not {forms.FORMS[getattr(forms, form)]}"
        raise click.UsageError(message)
    return text


def _name(given: str | None, target: Path) -> str:
    from sparkiac.importers import naming

    chosen = given or _answer("Name of the fleet", naming.plain(target.name, "fleet"))
    return _matching("--name", "NAME", chosen)


def _refuse_taken(target: Path, name: str) -> None:
    from sparkiac.commands import repository

    taken = [each for each in repository.files(name) if (target / each).exists() or (target / each).is_symlink()]
    if taken:
        message = f"{target} has {', '.join(taken)} already; init makes a new repository, and overwrites nothing"
        raise click.UsageError(message)


def _hosts(named: Sequence[str], asked: Sequence[str], store: str) -> tuple[Host, ...]:
    """Give the machines, those that are named first. At least one is needed."""
    if not named and not asked:
        named = (_needed("First host, NAME=ADDRESS", "--host NAME=ADDRESS or --from-host [USER@]ADDRESS"),)
    found = [_named(each) for each in named]
    for target in asked:
        found.append(_measured(target, store, [host.name for host in found]))
    names = [host.name for host in found]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        message = f"--host names {', '.join(twice)} twice"
        raise click.UsageError(message)
    return tuple(found)


def _named(text: str) -> Host:
    from sparkiac.commands.repository import Host

    name, _, address = text.partition("=")
    if not name or not address:
        message = f"--host {text!r} is not NAME=ADDRESS, such as spark-01=192.168.1.11"
        raise click.UsageError(message)
    return Host(_matching("--host", "NAME", name), _matching("--host", "ADDRESS", address))


def _measured(target: str, store: str, taken: Sequence[str]) -> Host:
    from sparkiac.commands.repository import Host
    from sparkiac.importers import naming
    from sparkiac.upstream import machine

    user, _, address = target.rpartition("@")
    _matching("--from-host", "USER", user)
    _matching("--from-host", "ADDRESS", address)
    try:
        found = machine.ask(target, store=store)
    except machine.Unasked as error:
        raise click.UsageError(str(error)) from None
    return Host(naming.free(naming.plain(found.name, "spark"), taken), address, found, user or None)


def _recipe(given: str | None) -> str:
    from sparkiac.resolve import catalogued

    names = [each.name for each in catalogued.everything() if each.usable]
    return known("recipe", given or _needed("Recipe, as `sparkiac recipes list` shows them", "--recipe RECIPE"), names)


def _served(fleet: Asked, recipe: str) -> str:
    from sparkiac.commands import repository
    from sparkiac.resolve import catalogued

    chosen = catalogued.named(recipe)
    _enough(fleet, chosen.nodes, recipe)
    return repository.from_recipe(fleet, chosen)


def _enough(fleet: Asked, nodes: int, what: str) -> None:
    if len(fleet.hosts) < nodes:
        message = f"{what} needs {nodes} hosts, and {len(fleet.hosts)} are named; add --host or --from-host"
        raise click.UsageError(message)


def _drafted(fleet: Asked, source: Path) -> str:
    """Import a file as `sparkiac import` does, for these hosts."""
    from sparkiac import importers
    from sparkiac.commands import repository
    from sparkiac.importers import assemble, hiding

    try:
        text = source.read_bytes().decode("utf-8-sig")
        kind = importers.recognised(text, source.name)
        if kind is None:
            message = "no format is recognised; `sparkiac import --help` tells which are known"
            raise importers.Unreadable(message)  # noqa: TRY301  one way for all that cannot be read
        launches = importers.named(kind).read(text, name=source.name)
        entries = assemble.entries([(source.name, each) for each in launches], hiding.values(text))
    except (importers.Unreadable, UnicodeDecodeError) as error:
        message = f"{click.format_filename(source)} cannot be read: {error}"
        raise click.UsageError(message) from None
    _enough(fleet, max((entry.nodes for _, entry in entries), default=1), source.name)
    draft = assemble.inventory(entries, fleet.name, [(host.name, host.address) for host in fleet.hosts])
    return repository.from_draft(fleet, draft.text)


def _write(fleet: Asked, target: Path, text: str) -> int:
    """Write the repository, unless its inventory would be refused."""
    from sparkiac import pipeline
    from sparkiac.commands import repository

    outcome = pipeline.check(pipeline.File(f"inventories/{fleet.name}.yaml", text.encode()), None, allow_unlocked=True)
    if outcome.plan is None:
        show(outcome, "text")
        click.echo("nothing was written", err=True)
        return Exit.BAD_INPUT
    repository.write(target, fleet.name, text)
    if outcome.report.failed:
        show(outcome, "text")
    click.echo(_NEXT.format(target=target, count=len(repository.files(fleet.name)), name=fleet.name), nl=False)
    return exit_code(outcome)
