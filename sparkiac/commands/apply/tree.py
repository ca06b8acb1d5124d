"""The generated directory: whether it matches the inventory, and the generation of each host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click

from sparkiac import __version__
from sparkiac.commands.inputs import WRITE_EXITS, Exit, hashes, printable, read, refuse, show
from sparkiac.pipeline import Outcome
from sparkiac.plan import Plan
from sparkiac.report.artifact import Artifact, hashes_file
from sparkiac.write import Changes, WriteError

_GENERATION: Final = re.compile(rb'^  generation: "(\w+)"$', re.MULTILINE)
_HASHES: Final = re.compile(hashes_file("([^/]+)"))
_UNPINNED: Final = "run sparkiac lock {0} and sparkiac generate {0}; nothing was changed on any host"
_LISTED: Final = 5
"""Files that are named when the directory is out of date."""


class GeneratedFleet(NamedTuple):
    """A generated directory that is up to date."""

    plan: Plan
    path: Path
    generations: Mapping[str, str]
    """Host → the generation that an apply puts on it."""


def checked(inventory: Path, output: Path | None, output_format: str) -> GeneratedFleet:
    """Return the directory if it is what INVENTORY generates; otherwise print the reason and end with an exit code."""
    from sparkiac import pipeline, write

    files = read(inventory)
    outcome = pipeline.check(*files)
    if outcome.plan is None or outcome.report.failed:
        raise click.exceptions.Exit(refuse(outcome, inventory, output_format, _UNPINNED))
    artifacts = pipeline.render(outcome.plan)
    path = printable(output or Path("generated") / outcome.plan.name)
    try:
        changes = write.survey(artifacts, path, inputs=hashes(files), generator=__version__)
    except write.WriteError as error:
        _print_refusal(outcome, output_format, path, _refused(error, path, inventory))
        raise click.exceptions.Exit(WRITE_EXITS[type(error).__name__]) from None
    if changes.any:
        _print_refusal(outcome, output_format, path, _stale(changes, path, inventory))
        raise click.exceptions.Exit(Exit.STALE)
    return GeneratedFleet(outcome.plan, path, generations(artifacts))


def _print_refusal(outcome: Outcome, output_format: str, path: Path, reason: str) -> None:
    if output_format == "json":
        show(outcome.report, output_format, output=str(path), error=reason)
    else:
        click.echo(reason, err=True)


def _refused(error: WriteError, path: Path, inventory: Path) -> str:
    from sparkiac import write

    if not isinstance(error, write.WouldOverwrite):
        return f"{path}: {error}"
    lines = "".join(f"\n  {name}: {problem}" for name, problem in error.problems.items())
    name = click.format_filename(inventory)
    return (
        f"{path} is not what {name} generates:{lines}\n"
        f"put the changes into {name} or an override there; sparkiac generate {name} --force discards them"
    )


def _stale(changes: Changes, path: Path, inventory: Path) -> str:
    name = click.format_filename(inventory)
    files = sorted((*changes.created, *changes.changed, *changes.removed))
    more = f" and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
    return (
        f"{path} is out of date: {', '.join(files[:_LISTED])}{more}\n"
        f"run sparkiac generate {name}, review the changes, then apply again"
    )


def generation_in(variables: bytes) -> str | None:
    """Return the generation of a host from the variables that Ansible reads."""
    found = _GENERATION.search(variables)
    return found[1].decode() if found else None


def generations(artifacts: Iterable[Artifact]) -> dict[str, str]:
    """Return host → generation."""
    return {
        host[1]: found
        for each in artifacts
        if (host := _HASHES.fullmatch(each.path)) and (found := generation_in(each.content))
    }
