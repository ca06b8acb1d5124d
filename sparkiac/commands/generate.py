"""`sparkiac generate`: render the inventory into files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkiac import __version__
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import FORMAT, INVENTORY, WRITE_EXITS, exit_code, hashes, lock_path, printable, read, show

if TYPE_CHECKING:
    from sparkiac.artifact import Artifact
    from sparkiac.pipeline import Outcome
    from sparkiac.plan import Plan
    from sparkiac.write import Changes


@click.command()
@INVENTORY
@FORMAT
@click.option("--output", type=click.Path(path_type=Path), help="Output directory; default: generated/<name>.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 3 if the files are out of date.")
@click.option(
    "--diff", "show_diff", is_flag=True, help="Write nothing; print what would change; exit 3 if anything would."
)
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option("--allow-unlocked", is_flag=True, help="Render even if pins are missing; the result cannot be applied.")
def generate(  # noqa: PLR0913  one parameter for each option
    inventory: Path,
    output_format: str,
    *,
    output: Path | None,
    only_check: bool,
    show_diff: bool,
    force: bool,
    allow_unlocked: bool,
) -> int:
    """Render INVENTORY into generated/<name>, for review, commit and apply.

    Files rendered from an example lock or with --allow-unlocked cannot be applied: the first task of the playbook
    fails.

    Exit codes: 0 done, 1 errors found, 2 bad input, 3 files out of date or edited by hand, 4 lock missing or
    incomplete, 5 another run is writing, 6 a file cannot be read or written.
    """
    from sparkiac import pipeline, write

    files = read(inventory)
    outcome = pipeline.check(*files, allow_example=True, allow_unlocked=allow_unlocked)
    if outcome.plan is None or outcome.report.failed:
        return _refuse(outcome, inventory, output_format)
    artifacts = pipeline.render(outcome.plan)
    target = printable(output or Path("generated") / outcome.plan.name)
    planned = only_check or show_diff
    act = write.survey if planned else write.commit
    try:
        changes = act(artifacts, target, inputs=hashes(files), generator=__version__, force=force)
    except write.WriteError as error:
        show(outcome.report, output_format, output=str(target), error=str(error))
        click.echo(f"{target}: {error}", err=True)
        return WRITE_EXITS[type(error).__name__]
    show(outcome.report, output_format, **_as_json(changes, target))
    if output_format == "text":
        _tell(changes, target, artifacts, planned=planned, show_diff=show_diff)
        _warn(outcome.plan, inventory)
    return Exit.STALE if planned and changes.any else Exit.OK


def _refuse(outcome: Outcome, inventory: Path, output_format: str) -> int:
    show(outcome.report, output_format)
    return _missing_lock(inventory, output_format) if outcome.only_unpinned else exit_code(outcome)


def _missing_lock(inventory: Path, output_format: str) -> int:
    if output_format == "text":
        lock = lock_path(inventory)
        state = "does not pin everything" if lock.is_file() else "does not exist"
        name = click.format_filename(inventory)
        click.echo(
            f"{lock} {state}: run sparkiac lock {name}; --allow-unlocked renders files that cannot be applied", err=True
        )
    return Exit.LOCK


def _warn(plan: Plan, inventory: Path) -> None:
    """Print a warning if the files cannot be applied."""
    from sparkiac import hints
    from sparkiac.formats.findings import wants_colour

    text = hints.unpinned_notice(plan.unpinned, click.format_filename(inventory))
    if text:
        colour = wants_colour(sys.stderr)
        click.echo(click.style(text, fg="yellow", bold=True) if colour else text, err=True)


def _as_json(changes: Changes, target: Path) -> dict[str, object]:
    return {
        "output": str(target),
        "created": list(changes.created),
        "changed": list(changes.changed),
        "removed": list(changes.removed),
        "unchanged": changes.unchanged,
    }


def _tell(changes: Changes, target: Path, artifacts: tuple[Artifact, ...], *, planned: bool, show_diff: bool) -> None:
    from sparkiac import write

    if show_diff:
        click.echo(write.diff(artifacts, target), nl=False)
    else:
        for sign, paths in (("+", changes.created), ("~", changes.changed), ("-", changes.removed)):
            for path in paths:
                click.echo(f"{sign} {target}/{path}")
    counts = f"{len(changes.created)} new, {len(changes.changed)} changed, {len(changes.removed)} removed"
    verb = "would be written" if planned else "written"
    state = f"{verb}: {counts}, {changes.unchanged} as before" if changes.any else "up to date"
    click.echo(f"{target}: {state}", err=show_diff)
