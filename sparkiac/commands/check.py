"""`sparkiac check`: print findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands.inputs import Exit, exit_code, known, read, reject, show
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from pathlib import Path

    from sparkiac.pipeline import Outcome
    from sparkiac.rules.rule import Hidden

_WITH_FIX: Final = ("text", "json")
_FAMILY: Final = 3
"""Number of letters at the start of a code that name its family, such as SPD."""


@click.command()
@INVENTORY
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="Output format: text, JSON, SARIF for code scanning, or annotations for a GitHub workflow.",
)
@click.option("--strict", is_flag=True, help="Exit 1 on warnings as well.")
@click.option("--profile", metavar="NAME", help="Set of rules: minimal, recommended (the default) or strict.")
@click.option("--select", metavar="CODES", help="Run only these rules, such as ENT001,SPD; excludes --profile.")
@click.option("--ignore", metavar="CODES", help="Skip these rules, such as QNT010,SPD.")
@click.option("--allow-unlocked", is_flag=True, help="Report missing and example pins as warnings.")
@click.option("--fix", is_flag=True, help="Apply automatic fixes to INVENTORY and print the diff.")
def check(
    inventory: Path, output_format: str, *, strict: bool, allow_unlocked: bool, fix: bool, **chosen: str | None
) -> int:
    """Check an inventory and its lock. Nothing is written without --fix.

    Errors that cannot be waived are always shown. `sparkiac rules list` prints all codes and profiles.

    Missing pins and an example lock are errors. With --allow-unlocked they are warnings, as in
    `sparkiac generate --allow-unlocked`.

    --fix changes only the lines of a fix and keeps comments and layout. It does not change an inventory that does not
    load.

    Exit codes: 0 no error, 1 errors found, 2 bad input. With --fix, these describe what is left after the fixes; 5 the
    file changed during the check, 6 the file cannot be written. In both cases the file is not modified.
    """
    from sparkiac import pipeline
    from sparkiac.report import Severity

    hidden = _hidden(**chosen) if any(given is not None for given in chosen.values()) else None
    if fix:
        outcome = _fix(inventory, output_format, allow_unlocked=allow_unlocked, hidden=hidden)
    else:
        outcome = pipeline.check(*read(inventory), allow_unlocked=allow_unlocked, hidden=hidden)
        _print(outcome, output_format, file=str(inventory))
    if outcome is None:
        return Exit.BUSY
    code = exit_code(outcome)
    warns = outcome.report.number_of(Severity.WARNING) > 0
    return Exit.FINDINGS if code is Exit.OK and strict and warns else code


def _fix(inventory: Path, output_format: str, *, allow_unlocked: bool, hidden: Hidden | None) -> Outcome | None:
    """Fix the file, print the diff and the remaining findings; return None if the file changed during the run."""
    from sparkiac import pipeline, write
    from sparkiac.commands import editing
    from sparkiac.words.findings import data_of

    if output_format not in _WITH_FIX:
        reject(f"--fix prints a diff, which --format {output_format} cannot contain; use text or json")
    if inventory.is_symlink():
        reject(f"{click.format_filename(inventory)} is a symbolic link; pass the path of the file itself to --fix")
    files = read(inventory)
    fixed = pipeline.fix(*files, allow_unlocked=allow_unlocked, hidden=hidden)
    if fixed.raw != files[0].raw and not editing.replaced(inventory, files[0].raw, fixed.raw, during="check"):
        return None
    diff = write.diff_of(str(inventory), files[0].raw, fixed.raw)
    if output_format == "json":
        show(fixed.outcome.report, "json", fixed=[data_of(finding) for finding in fixed.findings], diff=diff)
        return fixed.outcome
    click.echo(diff, nl=False)
    codes = ", ".join(dict.fromkeys(finding.code for finding in fixed.findings))
    click.echo(f"{inventory}: {f'fixed {codes}' if codes else 'nothing to fix'}", err=True)
    _print(fixed.outcome, "text", file=str(inventory))
    return fixed.outcome


def _print(outcome: Outcome, output_format: str, *, file: str) -> None:
    from sparkiac.words.findings import counts

    match output_format:
        case "sarif":
            from sparkiac.words import annotations

            click.echo(json.dumps(annotations.sarif(outcome.report, file=file), indent=1))
        case "github":
            from sparkiac.words import annotations

            click.echo(annotations.commands(outcome.report, file=file), nl=False)
            click.echo(f"{file}: {counts(outcome.report)}", err=True)
        case _:
            show(outcome.report, output_format)
            if output_format == "text" and not outcome.report.findings:
                click.echo(f"{file}: {counts(outcome.report)}", err=True)


def _hidden(*, profile: str | None, select: str | None, ignore: str | None) -> Hidden:
    """Return what to hide. Codes that cannot be waived are never hidden."""
    from sparkiac import catalog
    from sparkiac.rules.pages import pages
    from sparkiac.rules.rule import every_severity, hidden

    rules = {code: page.rule for code, page in pages().items()}
    unwaivable = {code for code, rule in rules.items() if rule.always_shown}
    if select is not None and profile is not None:
        reject("--select and --profile exclude each other; remove --profile")
    if select is not None:
        unshown = every_severity(rules.keys() - _codes(select, rules))
    else:
        levels = catalog.profiles()
        name = known("profile", levels.default if profile is None else profile, levels.profiles)
        unshown = hidden(rules.values(), levels.floors, name)
    if ignore is not None:
        unshown |= every_severity(_codes(ignore, rules, without=unwaivable))
    return unshown - every_severity(unwaivable)


def _codes(words: str, codes: Iterable[str], *, without: Container[str] = frozenset()) -> set[str]:
    """Return the codes that a list of codes and three-letter families selects; refuse the codes in `without`."""
    found = set[str]()
    for word in (part.strip().upper() for part in words.split(",")):
        if not word:
            reject(f"{words!r} is not a list of codes such as ENT001,SPD")
        known("rule", word, [*codes, *sorted({code[:_FAMILY] for code in codes})])
        found |= {code for code in codes if code.startswith(word)}
        if refused := [code for code in sorted(found) if code in without]:
            reject(f"these errors cannot be waived or ignored: {', '.join(refused)}")
    return found
