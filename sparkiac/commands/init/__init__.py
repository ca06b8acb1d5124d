"""`sparkiac init`: create a repository for a fleet."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands import completion, import_, prompts
from sparkiac.commands.inputs import Exit, exit_code, printable, reject, show
from sparkiac.report import hints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sparkiac.catalog.library import RecipeText
    from sparkiac.commands.init.repository import FleetDraft, FleetHost, Placement
    from sparkiac.foreign.draft import DraftEntry
    from sparkiac.pipeline import Outcome
    from sparkiac.plan import Plan
    from sparkiac.report import Report

_PIN: Final = "Pin kernel, driver, container toolkit and Docker of these hosts as they are (sparkiac docs hosts)?"
_STORE: Final = "/srv/models"
_BOTH: Final = "--import sets model, recipe and model store; remove --recipe, --model, --fill and --model-store"
_NEXT: Final = """\
created {target}: {count} files. {first}Next steps:
  cd {quoted}
{git}\
{wheel}\
  sparkiac lock inventories/{name}.yaml
{builds}\
  sparkiac check inventories/{name}.yaml
  sparkiac plan inventories/{name}.yaml
{secrets}\
  sparkiac generate inventories/{name}.yaml
  sparkiac apply inventories/{name}.yaml{values}
{idle}\
Options of Ansible follow `--`, such as --ask-become-pass if sudo needs a
password. README.md has more.
"""
_SECRETS: Final = "  sparkiac secrets new inventories/{name}.yaml\n"
_IDLE: Final = "{host} serves nothing yet: sparkiac add RECIPE --on {host} --to inventories/{name}.yaml\n"
_VALUES: Final = " -- -e @secrets/{name}.json"
_GIT: Final = "  git init\n"
_BUILT: Final = "  python3 -m pip wheel --quiet --no-deps --wheel-dir wheels {path}\n"
_COPIED: Final = "  mkdir -p wheels && cp {path} {wheel}\n"
_PLACEHOLDERS: Final = "Replace {many} in inventories/{name}.yaml first: `sparkiac check` names each one. "
_UNLOCKED: Final = "  sparkiac generate inventories/{name}.yaml --allow-unlocked\n"
_BUILD: Final = """\
  scp -r generated/{name}/builds/{image} {host}:
  ssh {host} ./{image}/build {image}.json
  scp {host}:{image}.json .
  sparkiac lock inventories/{name}.yaml --record {image}.json
"""


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=".", metavar="[DIR]")
@click.option("--name", help="Name of the fleet; default: the name of DIR.")
@click.option("--host", "hosts", metavar="NAME=ADDRESS", multiple=True, help="Host. May be repeated.")
@click.option(
    "--from-host", "targets", metavar="[USER@]ADDRESS", multiple=True, help="Host to read over ssh. May be repeated."
)
@click.option(
    "--link",
    "links",
    metavar="HOST=INTERFACE,DEVICE,ADDRESS/PREFIX",
    multiple=True,
    help="Direct link of a --host to other hosts, with its RDMA device. May be repeated.",
)
@click.option(
    "--recipe",
    "recipes",
    metavar="RECIPE",
    multiple=True,
    shell_complete=completion.recipes,
    help="Recipe to serve, vendor/name or vendor/name#variant, on the first hosts that have none. May be repeated.",
)
@click.option(
    "--model",
    "models",
    metavar="MODEL",
    multiple=True,
    help="Model, organisation/name, of a recipe that has none. May be repeated.",
)
@prompts.FILL
@click.option(
    "--import", "source", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="File to import instead."
)
@click.option("--user", help="Login name for Ansible, with sudo; default: yours.")
@click.option("--model-store", "store", metavar="PATH", help=f"Directory of weights on the hosts; default: {_STORE}.")
def init(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    directory: Path,
    name: str | None,
    hosts: tuple[str, ...],
    targets: tuple[str, ...],
    links: tuple[str, ...],
    recipes: tuple[str, ...],
    models: tuple[str, ...],
    fills: tuple[str, ...],
    source: Path | None,
    user: str | None,
    store: str | None,
) -> int:
    """Create a repository for a fleet in DIR; default: the current directory.

    Its inventory serves recipes of the catalog and of DIR/recipes, or what a file of another tool starts (--import,
    with the report of `sparkiac import`). --from-host reads memory, driver, disks and ports of a host over ssh; the
    links between these hosts are found as by `sparkiac fabric discover`. On a terminal, missing options are prompted
    for, and the recipes that fit the hosts are listed. Existing files are never overwritten, and after an error no new
    file is left.

    Exit codes: 0 done, 1 the inventory has errors or the import lost something, 2 bad input, 6 a file cannot be
    written.
    """
    from sparkiac.commands.init import hosts as machines
    from sparkiac.commands.init import repository, serving
    from sparkiac.commands.recipes.writing import below

    if source is not None and (recipes or models or fills or store is not None):
        reject(_BOTH)
    target = printable(directory.resolve())
    name = _name(name, target)
    _refuse_taken(target, name)
    shelf = below(directory)
    found = machines.with_links(machines.read(hosts, targets, store or _STORE), links)
    if source is not None:
        return _imported(source, found, target, name=name, user=user)
    found, placements = serving.chosen(found, serving.ServingOptions(recipes, models, fills), shelf)
    fleet = repository.FleetDraft(name, found, _user(user, found), _store(store), _token(placements))
    return _write(fleet, target, repository.from_recipes(fleet, placements), recipes=shelf.files)


def _name(given: str | None, target: Path) -> str:
    from sparkiac.foreign.draft import slug

    default = slug(target.name, "fleet")
    return prompts.value(given, "Name of the fleet", prompts.parser("--name", "NAME"), default=default)


def _user(given: str | None, hosts: Sequence[FleetHost]) -> str | None:
    """Return the login name of --user, --from-host or the prompt; None for the caller's own."""
    given = given or next((host.user for host in hosts if host.user), None)
    parse = prompts.parser("--user", "USER")
    label = "Login name on the hosts, or empty for yours"
    return prompts.value(given, label, lambda text: parse(text) if text else None, default="")


def _store(given: str | None) -> str:
    parse = prompts.parser("--model-store", "PATH")
    return prompts.value(given, "Directory of weights on the hosts", parse, default=_STORE)


def _token(placements: Sequence[Placement]) -> str | None:
    """Return the name of the secret with the token of the model hub, if a chosen recipe serves a gated model."""
    gated = [str(each.chosen.values["model"]) for each in placements if each.chosen.facts.gated]
    if not gated:
        return None
    label = f"{', '.join(gated)} is gated on the model hub: name of the secret for your token (not the token)"
    return prompts.value(None, label, _secret_name, default="hub_token")


def _secret_name(text: str) -> str:
    from sparkiac.model import forms

    if not re.fullmatch(forms.SECRET, text):
        reject(f"that is not {forms.FORMS[forms.SECRET]}; the token itself belongs into the file of `secrets new`")
    return text


def _refuse_taken(target: Path, name: str) -> None:
    from sparkiac.commands.init import repository

    taken = sorted(each for each in repository.files(name) if (target / each).exists() or (target / each).is_symlink())
    if taken:
        reject(
            f"{target} already contains {', '.join(taken)}; init overwrites no file: "
            "name another DIR, or move these files"
        )


def _imported(source: Path, hosts: Sequence[FleetHost], target: Path, *, name: str, user: str | None) -> int:
    """Create a repository from a file of another tool."""
    from sparkiac.commands.init import hosts as machines
    from sparkiac.commands.init import repository
    from sparkiac.foreign import assemble
    from sparkiac.report import Report

    entries, _, findings, _ = import_.read_files((source,))
    if findings:
        show(Report.of(findings), "text")
        return Exit.BAD_INPUT
    hosts = machines.grouped(hosts, max((entry.nodes for _, entry in entries), default=1), source.name)
    fleet = repository.FleetDraft(name, tuple(hosts), _user(user, hosts), _STORE)
    draft = assemble.inventory(entries, name, [(host.name, host.address) for host in hosts])
    return _write(fleet, target, repository.from_draft(fleet, draft), entries=entries)


def _write(
    fleet: FleetDraft,
    target: Path,
    text: str,
    *,
    entries: Sequence[tuple[str, DraftEntry]] = (),
    recipes: tuple[RecipeText, ...] = (),
) -> int:
    """Write the repository, unless its inventory has errors that prevent a plan."""
    from sparkiac import pipeline
    from sparkiac.commands.init import repository
    from sparkiac.words import imports

    draft = pipeline.InputFile(f"inventories/{fleet.name}.yaml", text.encode(), recipes=recipes)
    outcome = pipeline.check(draft, None, allow_unlocked=True)
    if outcome.plan is not None:
        repository.write(target, fleet.name, text)
        _offer_pins(fleet, target)
    _report(outcome, entries)
    if outcome.plan is None:
        click.echo("nothing was written", err=True)
        return Exit.BAD_INPUT
    click.echo(_next_steps(fleet.name, target, outcome.plan, outcome.report), nl=False)
    return Exit.FINDINGS if imports.lost(entries) else exit_code(outcome)


def _offer_pins(fleet: FleetDraft, target: Path) -> None:
    """On a terminal, ask whether to pin the software of the hosts that were read."""
    from sparkiac.commands.inputs import lock_path
    from sparkiac.commands.lock import hosts

    found = {host.name: host.machine.software for host in fleet.hosts if host.machine and host.machine.software}
    if found and sys.stdin.isatty() and click.confirm(_PIN, default=False, err=True):
        hosts.pin_first(lock_path(target / f"inventories/{fleet.name}.yaml"), found)


def _report(outcome: Outcome, entries: Sequence[tuple[str, DraftEntry]]) -> None:
    """Print the report of an import, or the findings if there is an error; `sparkiac lock` resolves the warnings."""
    from sparkiac.commands.inputs import wants_colour
    from sparkiac.words import imports

    if entries:
        colour = wants_colour(sys.stderr)
        click.echo(imports.text(entries, (), outcome.report, colour=colour), err=True, nl=False)
    elif outcome.report.failed:
        show(outcome.report, "text")


def _next_steps(name: str, target: Path, plan: Plan, report: Report) -> str:
    """Return the commands that follow, each of which works as printed once those above it have succeeded."""
    from sparkiac.commands.init import repository

    git = "" if any((folder / ".git").exists() for folder in (target, *target.parents)) else _GIT
    wanted = plan.hub.secret or any(host.secrets for host in plan.hosts)
    secrets, values = (each.format(name=name) if wanted else "" for each in (_SECRETS, _VALUES))
    idle = "".join(_IDLE.format(host=host.name, name=name) for host in plan.hosts if not host.containers)
    head = {"target": target, "count": len(repository.files(name)), "quoted": shlex.quote(str(target)), "git": git}
    head |= {"wheel": _wheel(repository.origin().path), "first": _first(name, report), "builds": _builds(name, plan)}
    return _NEXT.format(**head, name=name, secrets=secrets, values=values, idle=idle)


def _first(name: str, report: Report) -> str:
    """Return the step before the commands: replace the placeholders, if there are any."""
    count = sum(each.code == hints.OPEN_POINT for each in report.findings)
    return _PLACEHOLDERS.format(many=hints.placeholders(count), name=name) if count else ""


def _builds(name: str, plan: Plan) -> str:
    """Return the commands that build images on the first host that runs them, and record them in the lock."""
    built = "".join(_built(name, plan))
    return _UNLOCKED.format(name=name) + built if built else ""


def _built(name: str, plan: Plan) -> Iterator[str]:
    for build in plan.builds:
        runs = (host for host in plan.hosts if any(each.image.build == build.name for each in host.containers))
        host = next(runs)
        yield _BUILD.format(
            name=name, image=build.name, host=f"{host.user}@{host.address}" if host.user else host.address
        )


def _wheel(source: Path | None) -> str:
    """Return the command that puts the wheel for CI into the repository; empty if CI can install from elsewhere."""
    if source is None:
        return ""
    from sparkiac.commands.init import repository

    step = _COPIED if source.suffix == ".whl" else _BUILT
    return step.format(path=shlex.quote(str(source)), wheel=repository.WHEEL)
