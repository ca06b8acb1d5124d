"""`sparkiac bench run`: measure a server and write a record."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sparkiac.commands.bench import starts, startup
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import known, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.bench.measuring import BenchJob
    from sparkiac.bench.target import BenchTarget
    from sparkiac.commands.bench.starts import Deployed
    from sparkiac.model.bench import BenchRecord
    from sparkiac.plan import Plan

_KEY: Final = "SPARKIAC_API_KEY"
_SERVER: Final = re.compile(r"https?://[^/]")
_BUSY: Final = (
    "{count} requests run or wait on the server: a measurement would slow these clients down, and the result would be "
    "wrong. Wait, or measure anyway with --yes. Nothing was sent."
)
_UNKNOWN: Final = (
    "The server has no metrics, so it is unknown whether it serves clients. Measure anyway with --yes. Nothing was "
    "sent."
)


class Words(NamedTuple):
    """The arguments of the command."""

    inventory: Path | None
    deployment: str | None
    mode: str


def run(words: tuple[str, ...], output_format: str, options: dict[str, Any]) -> int:
    """Measure what the command line names."""
    from sparkiac.upstream.streaming import ServerError

    given = _parsed(words, options["url"])
    levels = _levels(options["levels"], given.mode)
    of = starts.deployed(given.inventory, given.deployment or "", output_format) if given.inventory else None
    try:
        if given.mode == "startup":
            return startup.run(of, options["log"], options["output"], output_format)
        target = _target(of, options)
        if isinstance(target, Exit):
            return target
        if not options["yes"] and is_busy(target):
            return Exit.BUSY
        return _measure(target, of, _job(given.mode, levels, options), options["output"], output_format)
    except ServerError as error:
        click.echo(str(error), err=True)
        return Exit.IO


def is_busy(target: BenchTarget) -> bool:
    """Return whether the server may serve clients; print a message if so."""
    from sparkiac.bench import counters

    found = counters.read(target.endpoint)
    busy = found.busy if found else None
    if busy != 0:
        click.echo(_UNKNOWN if busy is None else _BUSY.format(count=busy), err=True)
    return busy != 0


def _parsed(words: tuple[str, ...], url: str | None) -> Words:
    """Return the arguments; with --url only the mode."""
    names = 0 if url else 2
    if not names <= len(words) <= names + 1:
        message = "name INVENTORY and DEPLOYMENT, or --url, and then at most one mode"
        raise click.UsageError(message)
    from sparkiac.bench.points import MODES

    mode = known("mode", words[names], MODES) if len(words) > names else "single"
    return Words(None, None, mode) if url else Words(Path(words[0]), words[1], mode)


def _levels(text: str | None, mode: str) -> tuple[float, ...]:
    """Return the loads or depths to measure; without concurrency or at a rate of 0, no request would be sent."""
    try:
        found = tuple(float(each) for each in text.split(",")) if text else ()
    except ValueError:
        found = (math.nan,)
    whole, zero = mode != "rate", mode == "depth"
    for each in found:
        if not math.isfinite(each) or each < 0 or (each == 0 and not zero) or (whole and not each.is_integer()):
            what = f"{'whole ' if whole else ''}numbers{'' if zero else ' above 0'}"
            message = f"--levels must be {what} separated by commas, such as 1,2,4,8"
            raise click.UsageError(message)
    return found


def _target(of: Deployed | None, options: dict[str, Any]) -> BenchTarget | Exit:
    from sparkiac.bench import target

    if of is not None:
        return planned_target(of.plan, of.name)
    if not _SERVER.match(options["url"]):
        message = "--url contains no server; write it with http:// or https://, such as http://192.168.1.11:8000"
        raise click.UsageError(message)
    return target.of_url(options["url"], options["model"], os.environ.get(_KEY))


def planned_target(plan: Plan, name: str) -> BenchTarget | Exit:
    """Return the target for a deployment; print why there is none."""
    from sparkiac.bench import target
    from sparkiac.fleet.query import HostFailure

    try:
        return target.of_plan(plan, name)
    except HostFailure as failure:
        click.echo(f"{name}: {failure.reason}; {failure.hint}", err=True)
        return Exit.IO


def _job(mode: str, levels: Sequence[float], options: dict[str, Any]) -> BenchJob:
    from sparkiac.bench.measuring import BenchJob
    from sparkiac.bench.points import Sizes

    thinking = None if options["thinking"] is None else options["thinking"] == "on"
    sizes = Sizes(options["prompt_tokens"], options["output_tokens"])
    return BenchJob(mode, sizes, tuple(levels), thinking, options["runs"], options["minutes"] * 60, options["tool"])


def _measure(target: BenchTarget, of: Deployed | None, job: BenchJob, output: Path | None, output_format: str) -> Exit:
    from sparkiac.bench import measuring
    from sparkiac.commands.bench import files, progress

    with progress.BenchProgress(text=output_format == "text") as shown:
        result = measuring.measure(target, job, files.now(), shown.on_progress)
    record = result.record
    if not (record.points or record.tools):
        return _nothing(job.seconds, record, output_format)
    path = output or files.place(of.inventory if of else None, record)
    code = starts.report(of, record, path, output_format)
    if code is not Exit.OK:
        return code
    if record.interrupted:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if result.failed else Exit.OK


def _nothing(seconds: float, record: BenchRecord, output_format: str) -> Exit:
    from sparkiac.commands.bench import page
    from sparkiac.formats import terminal

    if output_format == "json":
        print_json({"path": None, "start": None, "not_used": None, "record": record.model_dump(mode="json")})
    else:
        terminal.show(page.page(record))
        click.echo(f"\nNothing was measured in {seconds:.0f} s.")
    return Exit.INTERRUPTED if record.interrupted else Exit.FINDINGS
