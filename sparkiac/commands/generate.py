"""`sparkiac generate`: render the inventory into files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac import __version__
from sparkiac.commands.inputs import (
    FORMAT,
    WRITE_EXITS,
    Exit,
    hashes,
    known,
    mention,
    printable,
    read,
    refuse,
    reject,
    show,
)
from sparkiac.commands.inventories import INVENTORY
from sparkiac.report import hints
from sparkiac.report.characters import escaped_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.pipeline import InputFile
    from sparkiac.plan import Plan
    from sparkiac.report import Report
    from sparkiac.report.artifact import Artifact
    from sparkiac.write import Changes

_FOLDERS: Final = {"ansible": "{}", "kubernetes": "{}.kubernetes"}
"""Target → folder of its output below generated/. No name has a dot, so the folders of two inventories differ."""
_MARKS: Final = {"ansible": "ansible.cfg", "kubernetes": "kustomization.yaml"}
"""Target → a file that only its output has."""
_SHIPPED: Final = "playbooks/"
"""Directory of the output whose files are the same for every inventory."""
_OF_HOSTS: Final = ("hosts/", "host_vars/")
_UNPINNED: Final = "run sparkiac lock {}; --allow-unlocked renders files that cannot be applied"
_RESULTS: Final = {"ansible": hints.PLAYBOOK_STOPS, "kubernetes": hints.PODS_FAIL}


@click.command()
@INVENTORY
@FORMAT
@click.option("--target", default="ansible", metavar="TARGET", help="ansible (default) or kubernetes.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Output directory; default: generated/<name>, or generated/<name>.kubernetes.",
)
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
    target: str,
    output: Path | None,
    only_check: bool,
    show_diff: bool,
    force: bool,
    allow_unlocked: bool,
) -> int:
    """Render INVENTORY into generated/<name>, for review, commit and apply.

    The target kubernetes is applied with `kubectl apply -k`. Files rendered from an example lock or with
    --allow-unlocked cannot be applied: the first task of the playbook fails, and pods do not start.

    Exit codes: 0 done, 1 errors found, 2 bad input, 3 files out of date or edited by hand, 4 lock missing or
    incomplete, 5 another run is writing, 6 a file cannot be read or written.
    """
    from sparkiac import pipeline, write

    known("target", target, _FOLDERS)
    files = read(inventory)
    outcome = pipeline.check(*files, allow_example=True, allow_unlocked=allow_unlocked)
    if outcome.plan is None or outcome.report.failed:
        return refuse(outcome, inventory, output_format, _UNPINNED)
    artifacts, uncovered = _render(outcome.plan, target)
    folder = _output(outcome.plan, target, output)
    act = write.survey if (planned := only_check or show_diff) else write.commit
    try:
        changes = act(artifacts, folder, inputs=hashes(files), generator=__version__, force=force)
    except write.WriteError as error:
        show(outcome.report, output_format, output=str(folder), error=str(error))
        click.echo(f"{folder}: {error}", err=True)
        return WRITE_EXITS[type(error).__name__]
    _show(outcome.report, inventory, output_format, changes, output=str(folder), not_covered=list(uncovered))
    if output_format == "text":
        _report(changes, folder, artifacts, outcome.plan, planned=planned, show_diff=show_diff)
        _warn(outcome.plan, files[0], target, uncovered)
    return Exit.STALE if planned and changes.any else Exit.OK


def _render(plan: Plan, target: str) -> tuple[tuple[Artifact, ...], tuple[str, ...]]:
    """Return the files for a target, and the parts of the inventory that they do not cover."""
    from sparkiac import pipeline

    if target == "ansible":
        return pipeline.render(plan), ()
    from sparkiac.render.kubernetes import KubernetesError

    try:
        return pipeline.render_kubernetes(plan)
    except KubernetesError as error:
        reject(str(error))


def _show(report: Report, inventory: Path, output_format: str, changes: Changes, **extra: object) -> None:
    """Print the findings; only their number if no file changes, because the run that wrote the files has shown them."""
    if changes.any or output_format == "json":
        show(report, output_format, **extra, **changes._asdict())
    else:
        mention(report, inventory)


def _output(plan: Plan, target: str, chosen: Path | None) -> Path:
    """Return the output directory. One with the files for another target, which would be removed, is refused."""
    from sparkiac import write

    folder = printable(chosen or Path("generated") / _FOLDERS[target].format(plan.name))
    found = write.written_files(folder)
    for other in _MARKS.keys() - {target}:
        if _MARKS[other] in found:
            reject(
                f"{folder} contains the files for {other}, which those for {target} would replace; "
                f"choose another directory for --output, or remove {folder} first"
            )
    return folder


def _warn(plan: Plan, inventory: InputFile, target: str, uncovered: tuple[str, ...]) -> None:
    """Print a warning if the files cannot be applied, what they do not cover, and sources that are left over."""
    from sparkiac.commands.inputs import wants_colour
    from sparkiac.commands.recipes import writing

    text = hints.unpinned_notice(plan.unpinned, click.format_filename(inventory.name), result=_RESULTS[target])
    if text:
        colour = wants_colour(sys.stderr)
        click.echo(click.style(text, fg="yellow", bold=True) if colour else text, err=True)
    for each in uncovered:
        click.echo(f"not covered: {escaped_line(each)}", err=True)
    writing.print_left_over(inventory)


def _shipped(target: Path, artifacts: tuple[Artifact, ...]) -> str:
    """Return one line for the playbooks and the programs of hosts, which are the same for every inventory."""
    from sparkiac.host.generation import generation_id
    from sparkiac.render import generation

    found = [each for each in artifacts if each.path.startswith(_SHIPPED)]
    version = generation_id(generation.placed(found))
    return f"~ {target}/{_SHIPPED}: playbooks and programs of hosts, {len(found)} files, version {version}"


def _lines(paths: Iterable[str], others: frozenset[str]) -> Iterator[str]:
    """Yield a line for each path, or one for all files in the directory of a host if none of `others` is in it.

    The manifest changes with every other file and has no line.
    """
    from sparkiac import write

    folders: dict[str, list[str]] = {}
    for path in paths:
        if path != write.MANIFEST and not path.startswith(_SHIPPED):
            folders.setdefault("/".join(path.split("/")[:2]) if path.startswith(_OF_HOSTS) else path, []).append(path)
    for folder, found in folders.items():
        if len(found) == 1 or any(path.startswith(f"{folder}/") for path in others):
            yield from found
        else:
            yield f"{folder}/: {len(found)} files"


def _together(lines: Iterable[str], plan: Plan) -> Iterable[str]:
    """Return the lines, in a large fleet those of alike hosts as one."""
    from sparkiac.words.apply import alike
    from sparkiac.words.page import MANY

    if len(plan.hosts) <= MANY:
        return lines
    said: dict[str, list[str]] = {}
    for each in lines:
        said.setdefault(each.split("/")[1] if each.startswith(_OF_HOSTS) else each, []).append(each)
    own = {host.name: [unit.name for unit in host.units] for host in plan.hosts}
    return (line for each in alike(said, own) for line in each.lines)


def _report(  # noqa: PLR0913  what was done, and how it was asked for
    changes: Changes, target: Path, artifacts: tuple[Artifact, ...], plan: Plan, *, planned: bool, show_diff: bool
) -> None:
    from sparkiac import write

    if show_diff:
        click.echo(write.diff(artifacts, target), nl=False)
    else:
        present = frozenset(each.path for each in artifacts)
        before = present.union(changes.removed).difference(changes.created)
        for sign, paths, others in (
            ("+", changes.created, before),
            ("~", changes.changed, present),
            ("-", changes.removed, present),
        ):
            for line in _together(_lines(paths, others), plan):
                click.echo(f"{sign} {target}/{line}")
        differing = (*changes.created, *changes.changed, *changes.removed)
        if any(path.startswith(_SHIPPED) for path in differing):
            click.echo(_shipped(target, artifacts))
    counts = f"{len(changes.created)} new, {len(changes.changed)} changed, {len(changes.removed)} removed"
    verb = "would be written" if planned else "written"
    state = f"{verb}: {counts}, {changes.unchanged} as before" if changes.any else "up to date"
    click.echo(f"{target}: {state}", err=show_diff)
