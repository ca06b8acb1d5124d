"""`sparkiac check`: findings only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import INVENTORY, exit_code, known, read, show

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from pathlib import Path

    from sparkiac.pipeline import Outcome
    from sparkiac.report import Report

_WITH_FIX: Final = ("text", "json")
_FAMILY: Final = 3
"""Letters that codes of one kind share."""


@click.command()
@INVENTORY
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="How to print findings: for people, for machines, for code scanning, as annotations of a GitHub workflow.",
)
@click.option("--strict", is_flag=True, help="Exit 1 on warnings as well.")
@click.option("--profile", metavar="NAME", help="How much to look at: minimal, recommended (the default) or strict.")
@click.option("--select", metavar="CODES", help="Look at these rules only, as in ENT001,SPD; --profile is not asked.")
@click.option("--ignore", metavar="CODES", help="Leave these rules out, as in ENG003,SPD.")
@click.option("--allow-unlocked", is_flag=True, help="Warn of pins that are missing or examples, for a first look.")
@click.option("--fix", is_flag=True, help="Mend in INVENTORY what can be mended mechanically, and show the diff.")
def check(
    inventory: Path, output_format: str, *, strict: bool, allow_unlocked: bool, fix: bool, **chosen: str | None
) -> int:
    """Check an inventory and its lock; write nothing, unless --fix says so.

    Errors that no inventory may waive are always shown. `sparkiac rules list` has all codes and profiles.

    Pins that are missing are errors, and an example lock is one. With --allow-unlocked both are warnings, as in
    `sparkiac generate --allow-unlocked`.

    --fix changes only the lines of a fix: comments and layout stay. An inventory that does not load is not touched.

    Exits 0 when there is no error, 1 when a rule refuses something, 2 when the input is bad. With --fix this is said
    of what is left; 5 when the file was changed meanwhile, 6 when it cannot be written: then it is as it was.
    """
    from sparkiac import pipeline

    hidden = _hidden(**chosen) if any(given is not None for given in chosen.values()) else None
    if fix:
        outcome = _fix(inventory, output_format, allow_unlocked=allow_unlocked, hidden=hidden)
    else:
        outcome = pipeline.check(*read(inventory), allow_unlocked=allow_unlocked, hidden=hidden)
        _print(outcome, output_format, file=str(inventory))
    if outcome is None:
        return Exit.BUSY
    code = exit_code(outcome)
    return Exit.FINDINGS if code is Exit.OK and strict and _warns(outcome.report) else code


def _fix(inventory: Path, output_format: str, *, allow_unlocked: bool, hidden: frozenset[str] | None) -> Outcome | None:
    """Mend the file and print the diff and what is left; None if somebody else changed it meanwhile."""
    from sparkiac import pipeline, write
    from sparkiac.formats.json import plain

    if output_format not in _WITH_FIX:
        message = f"--fix shows a diff, which --format {output_format} has no place for; use text or json"
        raise click.UsageError(message)
    if inventory.is_symlink():
        message = f"{click.format_filename(inventory)} is a symbolic link; for --fix name the file itself"
        raise click.UsageError(message)
    files = read(inventory)
    fixed = pipeline.fix(*files, allow_unlocked=allow_unlocked, hidden=hidden)
    if fixed.raw != files[0].raw:
        if inventory.read_bytes() != files[0].raw:
            click.echo(f"{inventory} was changed while it was checked; it is left as it is now", err=True)
            return None
        write.replace(inventory, fixed.raw)
    diff = write.diff_of(str(inventory), files[0].raw, fixed.raw)
    if output_format == "json":
        show(fixed.outcome.report, "json", fixed=[plain(finding) for finding in fixed.findings], diff=diff)
        return fixed.outcome
    click.echo(diff, nl=False)
    codes = ", ".join(dict.fromkeys(finding.code for finding in fixed.findings))
    click.echo(f"{inventory}: {f'fixed {codes}' if codes else 'nothing to fix'}", err=True)
    _print(fixed.outcome, "text", file=str(inventory))
    return fixed.outcome


def _warns(report: Report) -> bool:
    from sparkiac.report import Severity

    return report.number_of(Severity.WARNING) > 0


def _print(outcome: Outcome, output_format: str, *, file: str) -> None:
    from sparkiac.formats.text import counts

    match output_format:
        case "sarif":
            from sparkiac.formats import sarif

            click.echo(json.dumps(sarif.log(outcome.report, file=file), indent=1))
        case "github":
            from sparkiac.formats import github

            click.echo(github.commands(outcome.report, file=file), nl=False)
            click.echo(f"{file}: {counts(outcome.report)}", err=True)
        case _:
            show(outcome.report, output_format)
            if output_format == "text" and not outcome.report.findings:
                click.echo(f"{file}: {counts(outcome.report)}", err=True)


def _hidden(*, profile: str | None, select: str | None, ignore: str | None) -> frozenset[str]:
    """Give the codes that are not wanted. What cannot be waived is never among them."""
    from sparkiac import catalog
    from sparkiac.rules import profiles
    from sparkiac.rules.pages import pages

    rules = {code: page.rule for code, page in pages().items()}
    firm = {code for code, rule in rules.items() if profiles.firm(rule)}
    if select is not None and profile is not None:
        message = "--select names the rules by itself; leave --profile out"
        raise click.UsageError(message)
    if select is not None:
        hidden = frozenset(rules.keys() - _codes(select, rules))
    else:
        levels = catalog.profiles()
        name = known("profile", levels.default if profile is None else profile, levels.profiles)
        hidden = profiles.outside(rules.values(), levels.floors, name)
    if ignore is not None:
        hidden |= _codes(ignore, rules, without=firm)
    return hidden - firm


def _codes(words: str, codes: Iterable[str], *, without: Container[str] = frozenset()) -> set[str]:
    """Give the codes that a list names, in full or by their first three letters; refuse those of `without`."""
    found = set[str]()
    for word in (part.strip().upper() for part in words.split(",")):
        if not word:
            message = f"{words!r} is no list of codes, such as ENT001,SPD"
            raise click.UsageError(message)
        known("rule", word, [*codes, *sorted({code[:_FAMILY] for code in codes})])
        found |= {code for code in codes if code.startswith(word)}
        if refused := [code for code in sorted(found) if code in without]:
            message = f"an error that no inventory may waive cannot be ignored: {', '.join(refused)}"
            raise click.UsageError(message)
    return found
