"""`sparkiac init`: a repository for a fleet, right from its first commit."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands import foreign, questions
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import exit_code, known, printable, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.commands.repository import Asked, Host
    from sparkiac.importers.draft import DraftEntry
    from sparkiac.pipeline import Outcome
    from sparkiac.resolve.catalogued import Catalogued

_STORE: Final = "/srv/models"
_ASKED: Final = {"recipe", "variant", "on", "model", "port", "deployments"}
"""What init writes or asks of all that a recipe leaves open."""
_NEXT: Final = """\
made {target}: {count} files. Next:
  cd {quoted}
{git}\
  sparkiac lock inventories/{name}.yaml
  sparkiac generate inventories/{name}.yaml
README.md says the rest.
"""
_BOTH: Final = "--import says what is served and where weights lie; leave --recipe, --model and --model-store out"
_WHICH: Final = "Recipe, as `sparkiac recipes list` shows them"
_ANOTHER: Final = "Another host, empty for no more"
_GIT: Final = "  git init\n"


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=".", metavar="[DIR]")
@click.option("--name", help="Name of the fleet; that of DIR if not given.")
@click.option("--host", "hosts", metavar="NAME=ADDRESS", multiple=True, help="A machine; again for more.")
@click.option("--from-host", "asked", metavar="[USER@]ADDRESS", multiple=True, help="A machine that is asked over ssh.")
@click.option("--recipe", metavar="RECIPE", help="What it serves: vendor/name or vendor/name#variant of the catalog.")
@click.option("--model", metavar="MODEL", help="Its model, organisation/name, where the recipe serves any.")
@click.option("--import", "source", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Or a file.")
@click.option("--user", help="Login name for Ansible, which needs sudo; that of the caller if not given.")
@click.option("--model-store", "store", metavar="PATH", help=f"Where weights lie on the hosts; {_STORE} if not given.")
def init(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    directory: Path,
    name: str | None,
    hosts: tuple[str, ...],
    asked: tuple[str, ...],
    recipe: str | None,
    model: str | None,
    source: Path | None,
    user: str | None,
    store: str | None,
) -> int:
    """Make a repository for a fleet in DIR, or here.

    Its inventory serves a recipe of the catalog, or what a file by other hands starts (--import, with the report of
    `sparkiac import`). --from-host asks a machine over ssh for its memory, driver, links and disks. On a terminal,
    what no option says is asked. An existing file is never overwritten, and after a failure there is no new one.

    Exits 0, 1 when the inventory has findings or the import lost something, 2 on wrong answers, 6 when a file cannot
    be written.
    """
    from sparkiac.commands import repository

    if source is not None and any(each is not None for each in (recipe, model, store)):
        raise click.UsageError(_BOTH)
    target = printable(directory.resolve())
    name = _name(name, target)
    _refuse_taken(target, name)
    places = _hosts(hosts, asked, store or _STORE)
    if source is not None:
        return _imported(source, places, target, name=name, user=user)
    chosen = questions.answer(recipe, _WHICH, lambda text: _recipe(text, places), "--recipe RECIPE")
    model = _model(model, chosen)
    fleet = repository.Asked(name, places, _user(user, places), _store(store))
    return _write(fleet, target, repository.from_recipe(fleet, chosen, model))


def _name(given: str | None, target: Path) -> str:
    from sparkiac.importers import naming

    return questions.answer(
        given, "Name of the fleet", questions.reader("--name", "NAME"), default=naming.slug(target.name, "fleet")
    )


def _user(given: str | None, hosts: Sequence[Host]) -> str | None:
    """Give the login name, if a flag or a machine that was asked says it, or somebody else than the caller logs in."""
    given = given or next((host.user for host in hosts if host.user), None)
    read = questions.reader("--user", "USER")
    question = "Login name on the hosts, empty for your own"
    return questions.answer(given, question, lambda text: read(text) if text else None, default="")


def _store(given: str | None) -> str:
    read = questions.reader("--model-store", "PATH")
    return questions.answer(given, "Where weights lie on the hosts", read, default=_STORE)


def _model(given: str | None, chosen: Catalogued) -> str | None:
    """Give the model, if a flag says it or the recipe serves any."""
    if given is None and "model" in chosen.values:
        return None
    question = "Model, organisation/name as on the model hub"
    return questions.answer(given, question, questions.reader("--model", "HANDLE"), "--model ORGANISATION/NAME")


def _refuse_taken(target: Path, name: str) -> None:
    from sparkiac.commands import repository

    taken = sorted(each for each in repository.files(name) if (target / each).exists() or (target / each).is_symlink())
    if taken:
        message = (
            f"{target} has {', '.join(taken)} already; init makes a new repository, and overwrites nothing: "
            "name another DIR, or move what is there"
        )
        raise click.UsageError(message)


def _hosts(named: Sequence[str], asked: Sequence[str], store: str) -> tuple[Host, ...]:
    """Give the machines, those that are named first. At least one is needed."""
    found: list[Host] = []
    for text in named:
        found.append(_named(text, found))
    for target in asked:
        found.append(_measured(target, store, [host.name for host in found]))
    if not found:
        flags = "--host NAME=ADDRESS or --from-host [USER@]ADDRESS"
        found.append(questions.answer(None, "First host, NAME=ADDRESS", lambda text: _named(text, ()), flags))
        while more := questions.answer(None, _ANOTHER, lambda text: _named(text, found) if text else None, default=""):
            found.append(more)
    return tuple(found)


def _named(text: str, before: Sequence[Host]) -> Host:
    from sparkiac.commands.repository import Host

    name, address = questions.host(text)
    for host in before:
        if name == host.name or address == host.address:
            message = f"--host names {name if name == host.name else address} twice"
            raise click.UsageError(message)
    return Host(name, address)


def _measured(target: str, store: str, taken: Sequence[str]) -> Host:
    from sparkiac.commands.repository import Host
    from sparkiac.importers import naming
    from sparkiac.upstream import machine

    user, _, address = target.rpartition("@")
    if user:
        questions.reader("--from-host", "USER")(user)
    questions.address("--from-host", address)
    try:
        found = machine.ask(target, store=store)
    except machine.Unasked as error:
        raise click.UsageError(str(error)) from None
    return Host(naming.unused(naming.slug(found.name, "spark"), taken), address, found, user or None)


def _recipe(name: str, hosts: Sequence[Host]) -> Catalogued:
    """Find a recipe that these hosts can serve, and that leaves nothing open but its model."""
    from sparkiac.formats import plain
    from sparkiac.resolve import catalogued

    chosen = catalogued.named(known("recipe", name, [each.name for each in catalogued.everything() if each.usable]))
    snippet = plain.snippet(chosen)
    left = sorted({key for part in (snippet, *snippet["deployments"].values()) for key in part} - _ASKED)
    if left:
        message = (
            f"{name} leaves {', '.join(left)} to the inventory, and init does not ask for that: begin with another "
            f"recipe, and write what `sparkiac recipes show {name}` prints into its inventory"
        )
        raise click.UsageError(message)
    _enough(hosts, chosen.nodes, name)
    return chosen


def _enough(hosts: Sequence[Host], nodes: int, what: str) -> None:
    """Refuse what spans more hosts than there are, or hosts whose links nobody knows."""
    if len(hosts) < nodes:
        message = f"{what} needs {nodes} hosts, named so far: {len(hosts)}; add --host or --from-host"
        raise click.UsageError(message)
    without = [host.name for host in hosts[:nodes] if host.machine is None or not host.machine.links]
    if nodes > 1 and without:
        message = (
            f"{what} spans {nodes} hosts, and no direct link of {', '.join(without)} is known; "
            "--from-host reads those that are up"
        )
        raise click.UsageError(message)


def _imported(source: Path, places: Sequence[Host], target: Path, *, name: str, user: str | None) -> int:
    """Make the repository of what a file starts."""
    from sparkiac.commands import repository
    from sparkiac.report import Report

    entries, _, findings = foreign.read((source,))
    if findings:
        show(Report.of(findings), "text")
        return Exit.BAD_INPUT
    _enough(places, max((entry.nodes for _, entry in entries), default=1), source.name)
    fleet = repository.Asked(name, tuple(places), _user(user, places), _STORE)
    return _write(fleet, target, _drafted(fleet, entries), entries)


def _drafted(fleet: Asked, entries: Sequence[tuple[str, DraftEntry]]) -> str:
    from sparkiac.commands import repository
    from sparkiac.importers import assemble

    draft = assemble.inventory(entries, fleet.name, [(host.name, host.address) for host in fleet.hosts])
    return repository.from_draft(fleet, draft.text)


def _write(fleet: Asked, target: Path, text: str, entries: Sequence[tuple[str, DraftEntry]] = ()) -> int:
    """Write the repository, unless its inventory would be refused."""
    from sparkiac import pipeline
    from sparkiac.commands import repository
    from sparkiac.formats import imports

    outcome = pipeline.check(pipeline.File(f"inventories/{fleet.name}.yaml", text.encode()), None, allow_unlocked=True)
    if outcome.plan is not None:
        repository.write(target, fleet.name, text)
    _report(outcome, entries)
    if outcome.plan is None:
        click.echo("nothing was written", err=True)
        return Exit.BAD_INPUT
    git = "" if any((folder / ".git").exists() for folder in (target, *target.parents)) else _GIT
    count, quoted = len(repository.files(fleet.name)), shlex.quote(str(target))
    click.echo(_NEXT.format(target=target, count=count, quoted=quoted, git=git, name=fleet.name), nl=False)
    return Exit.FINDINGS if imports.lost(entries) else exit_code(outcome)


def _report(outcome: Outcome, entries: Sequence[tuple[str, DraftEntry]]) -> None:
    """Say what became of an import, and the findings if there is an error: warnings are what the lock settles."""
    from sparkiac.formats import imports
    from sparkiac.formats import text as of_text

    if entries:
        colour = of_text.wants_colour(sys.stderr)
        click.echo(imports.text(entries, (), outcome.report, colour=colour), err=True, nl=False)
    elif outcome.report.failed:
        show(outcome.report, "text")
