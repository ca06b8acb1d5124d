"""`sparkiac bench tune`: try changes of a deployment on its hosts, and print the better ones as a patch."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.inputs import Exit, known, reject

if TYPE_CHECKING:
    from sparkiac.bench.tuning import Better, OptionChange, Trial
    from sparkiac.commands.bench.trials import Bed

_CONCURRENCY: Final = 8
"""Concurrent requests of the goal `throughput`."""


class SearchRequest(NamedTuple):
    """What to search for."""

    goal: str
    minutes: float
    runs: int
    prompt_tokens: int | None
    output_tokens: int | None
    generated: Path | None
    """Generated directory."""
    output: Path | None
    """File of the patch."""


def tune(inventory: Path, deployment: str, ansible: tuple[str, ...], search: SearchRequest, *, yes: bool) -> int:
    """Try changes of options on the hosts, restore the original options, and print the best ones as a patch."""
    from sparkiac.bench import measuring, tuning
    from sparkiac.bench.points import Sizes
    from sparkiac.bench.target import leading
    from sparkiac.commands.apply import options, tree
    from sparkiac.commands.bench import trials
    from sparkiac.plan import startup_log
    from sparkiac.upstream import playbook

    given = options.parse(ansible)
    try:
        playbook.program("ansible-playbook")
    except playbook.MissingProgramError as error:
        reject(str(error))
    fleet = tree.checked(inventory, search.generated, "text")
    known("deployment", deployment, startup_log.servers(fleet.plan))
    listed = tuning.changes(leading(fleet.plan, deployment)[1])
    if not listed:
        reject(f"nothing to tune in {deployment}: `bench tune` changes options of vLLM only")
    _ask(deployment, listed, search.minutes, yes=yes)
    seconds = search.minutes * 60
    mode, levels = ("sweep", (float(_CONCURRENCY),)) if search.goal == "throughput" else ("single", ())
    job = measuring.BenchJob(
        mode, Sizes(search.prompt_tokens, search.output_tokens), levels, None, search.runs, seconds
    )
    with tempfile.TemporaryDirectory(prefix="sparkiac-tune-") as folder:
        until_s = time.monotonic() + seconds
        bed = trials.Bed(inventory, deployment, fleet, given, job, Path(folder), until_s)
        return _run(bed, listed, search.goal, search.output)


def _ask(name: str, listed: tuple[OptionChange, ...], minutes: float, *, yes: bool) -> None:
    click.echo(f"Changes to try, each with a restart of {name}, in at most {minutes:g} minutes:", err=True)
    for change in listed:
        click.echo(f"  {change.text}", err=True)
    if not yes:
        click.confirm("Start?", err=True, abort=True)


def _run(bed: Bed, listed: tuple[OptionChange, ...], goal: str, output: Path | None) -> Exit:
    """Search, restore the former options in any case, and report."""
    from sparkiac.bench import tuning
    from sparkiac.commands.bench import trials
    from sparkiac.upstream.streaming import ServerError

    tried: list[Trial] = []
    hosts = trials.Hosts(bed)
    try:
        base = trials.present(bed, "the present options")
        if isinstance(base, Exit):
            return base
        with hosts:
            for trial in tuning.search(base, listed, goal, hosts.try_):
                tried.append(trial)
                click.echo(trials.line(trial), err=True)
        if hosts.away:
            return Exit.FINDINGS
        again = trials.present(bed, "the present options again") if any(each.kept for each in tried) else base
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except ServerError as error:
        click.echo(str(error), err=True)
        return Exit.IO
    return again if isinstance(again, Exit) else _report(bed, tuning.result(tried, again, goal), output)


def _report(bed: Bed, found: Better, output: Path | None) -> Exit:
    from sparkiac.commands.bench import starts, trials
    from sparkiac.write.patch import diff_of

    if not found.edits:
        click.echo("No change made it better beyond the noise; the inventory stays as it is.", err=True)
        return Exit.OK
    raw = bed.inventory.read_bytes()
    patch = diff_of(bed.inventory.as_posix(), raw, trials.edited(raw, found.edits))
    row = found.row
    if row is not None:
        click.echo(f"{row.quantity}: {row.first:.4g} → {row.second:.4g} {row.unit} ({row.change:+.1%})", err=True)
    if output is None:
        click.echo(patch, nl=False)
        return Exit.OK
    try:
        starts.store(output, patch)
    except OSError as error:
        click.echo(f"{click.format_filename(output)}: {error.strerror}", err=True)
        return Exit.IO
    click.echo(f"Patch: git apply {click.format_filename(output)}", err=True)
    return Exit.OK
