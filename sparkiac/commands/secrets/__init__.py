"""`sparkiac secrets`: values for the secrets that an inventory names."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from sparkiac.commands.apply import AnsibleCommand, require_answer
from sparkiac.commands.inputs import AS_JSON, CommandGroup, Exit, known, print_json, printable, read, reject, show
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sparkiac.commands.apply.tree import GeneratedFleet
    from sparkiac.commands.secrets.store import NeededSecret
    from sparkiac.plan import Plan

_PARTIAL = frozenset({"--check", "--limit", "--skip-tags", "--start-at-task", "--tags"})
"""Options of ansible-playbook with which some hosts would keep the former value."""
_PASSWORD = click.option(
    "--vault-password-file",
    "password",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Encrypt the file with ansible-vault and this password.",
)


@click.group(cls=CommandGroup)
def secrets() -> None:
    """Generate and rotate secrets."""


@secrets.command()
@INVENTORY
@_PASSWORD
@click.option("--replace", "replaced", multiple=True, help="Generate a new value of this secret. May be repeated.")
@click.option("--show", "shown", is_flag=True, help="Print the values too.")
@AS_JSON
def new(inventory: Path, output_format: str, *, password: Path | None, replaced: tuple[str, ...], shown: bool) -> int:
    """Generate the secrets that the hosts of INVENTORY need and that have no value yet.

    The values are stored in secrets/<name>.json with mode 0600, in a directory that Git ignores. Existing values are
    kept, except those of --replace. API keys, passwords of administrators and session keys are generated; a token that
    somebody else issues, such as that of the model hub, is only listed.

    Exit codes: 0 all secrets have a value, 1 some are still to be added, 2 bad input, 6 a file cannot be read or
    written.
    """
    from sparkiac import pipeline
    from sparkiac.commands.secrets import store
    from sparkiac.upstream.programs import ProgramError

    state = pipeline.lock_state(*read(inventory))
    if state.plan is None or state.documents is None:
        show(state.report, output_format)
        return Exit.BAD_INPUT
    found = store.secrets_of(state.plan, state.documents[0].data)
    for name in replaced:
        known("generated secret", name, (each.name for each in found if not each.issued))
    path = printable(Path("secrets") / f"{state.plan.name}.json")
    try:
        values, states = store.complete(path, found, password, replaced) if found else ({}, {})
    except ProgramError as error:
        reject(str(error))
    if output_format == "json":
        print_json({"file": str(path) if found else None, "secrets": _data(found, states, values if shown else {})})
    else:
        _table(state.plan, states, values if shown else {})
        _print_summary(inventory, path, password, [(each, states[each.name]) for each in found])
    return Exit.FINDINGS if "missing" in states.values() else Exit.OK


@secrets.command(cls=AnsibleCommand)
@INVENTORY
@click.argument("name")
@click.option(
    "--from", "source", type=click.File("rb"), help="File with the new value; - for standard input, with --yes."
)
@_PASSWORD
@click.option("--yes", is_flag=True, help="Rotate without a question.")
def rotate(  # noqa: PLR0913  one parameter for each option
    inventory: Path,
    name: str,
    ansible: tuple[str, ...],
    *,
    source: IO[bytes] | None,
    password: Path | None,
    yes: bool,
) -> int:
    """Give the secret NAME of INVENTORY a new value, on all hosts that read it.

    It shows what reads the secret and which models nothing else serves meanwhile, and then does what `sparkiac apply`
    does: units restart one after the other, and each must answer before the next stops. The new value is that of
    --from, without a line end; otherwise it is generated, or prompted for if somebody else issues it.

    The former value is replaced in secrets/<name>.json when all hosts have the new one. After an interrupt or a failure
    the same command completes the rotation.

    Options after -- go to ansible-playbook, as those of `sparkiac apply`.

    Exit codes: those of `sparkiac apply`.
    """
    require_answer("text", asks=not yes, checks=False)
    from sparkiac import pipeline
    from sparkiac.commands import terminal
    from sparkiac.commands.apply import options, tree
    from sparkiac.commands.secrets import store
    from sparkiac.words import audit

    vault = ("--vault-password-file", str(password)) if password else ()
    given = options.parse((*ansible, *vault))
    if partial := [each.name for each in given.found if each.name in _PARTIAL]:
        reject(f"a rotation has no {partial[0]}: it is complete when all hosts have the new value")
    fleet = tree.checked(inventory, None, "text")
    documents = pipeline.lock_state(*read(inventory)).documents
    found = {each.name: each for each in store.secrets_of(fleet.plan, documents[0].data if documents else {})}
    secret = found[known("secret", name, found)]
    terminal.show(audit.rotation(fleet.plan, name))
    return _rolled_out(fleet, given.words, secret, _given(secret, source), password, asks=not yes)


def _rolled_out(  # noqa: PLR0913
    fleet: GeneratedFleet,
    words: tuple[str, ...],
    secret: NeededSecret,
    value: str | None,
    password: Path | None,
    *,
    asks: bool,
) -> Exit:
    """Store the new value, apply it, and replace the former one if all hosts have it; return the exit code."""
    from sparkiac.commands.apply import options
    from sparkiac.commands.apply.session import in_session
    from sparkiac.commands.secrets import store
    from sparkiac.upstream.programs import ProgramError

    path, kept = printable(Path("secrets") / f"{fleet.plan.name}.json"), False
    try:
        new = store.rotation(path, secret, value, password)
        given = options.parse((*words, "-e", f"@{new}"))
        code = in_session(fleet, given, "text", lambda each: each.run(asks=asks, only_check=False, older=False))
        if code is Exit.OK:
            kept = store.settle(path, new, password)
    except click.exceptions.Exit:  # the answer was no
        new.unlink()
        raise
    except ProgramError as error:
        reject(str(error))
    former = "; gateways accept the former one too, until the next rotation of it" if kept else ""
    said = f"all hosts have the new value of {secret.name}, and {path} has it too{former}"
    later = f"not complete: {new} has the new value until the same command has succeeded"
    click.echo(later if code else said, err=True)
    return code


def _given(secret: NeededSecret, source: IO[bytes] | None) -> str | None:
    """Return the new value of a secret; None if it is to be generated."""
    if source is not None:
        return source.read().decode(errors="surrogateescape").removesuffix("\n")
    if not secret.issued:
        return None
    if not sys.stdin.isatty():
        reject(f"{secret.name} is issued by another service: pass its new value with --from FILE")
    text: str = click.prompt(f"New value of {secret.name}", hide_input=True, confirmation_prompt=True, err=True)
    return text


def _data(
    found: Sequence[NeededSecret], states: Mapping[str, str], values: Mapping[str, str]
) -> list[dict[str, object]]:
    data: list[dict[str, object]] = []
    for each in found:
        value = {"value": values[each.name]} if each.name in values else {}
        data.append({"name": each.name, "state": states[each.name], "hosts": each.hosts, "keys": each.keys, **value})
    return data


def _table(plan: Plan, states: Mapping[str, str], values: Mapping[str, str]) -> None:
    from sparkiac.commands import terminal
    from sparkiac.words.page import table

    rows = [(host.name, name, states[name]) for host in plan.hosts for name in host.secrets]
    if not rows:
        return
    terminal.show([table(("host", "secret", "state"), rows)])
    for name in (name for name in states if name in values):
        click.echo(f"{name}: {values[name]}")


def _print_summary(
    inventory: Path, path: Path, password: Path | None, found: Sequence[tuple[NeededSecret, str]]
) -> None:
    """Print to standard error: the number of secrets in the file, those without a value, and how to apply them."""
    if not found:
        click.echo(f"{inventory}: no host needs a secret", err=True)
        return
    counts = [sum(state == each for _, state in found) for each in ("generated", "kept")]
    form = "encrypted, " if password else ""
    click.echo(f"{path}: {counts[0]} generated, {counts[1]} kept ({form}mode 0600, ignored by Git)", err=True)
    for each, state in found:
        if state == "missing":
            message = f"{each.name} ({', '.join(each.keys)}) has no value: get it from its issuer and add it to {path}"
            click.echo(message, err=True)
    options = f" --vault-password-file {shlex.quote(str(password))}" if password else ""
    words = f"{shlex.quote(str(inventory))} -- -e @{shlex.quote(str(path))}{options}"
    click.echo(f"to put them on the hosts: sparkiac apply {words}", err=True)
