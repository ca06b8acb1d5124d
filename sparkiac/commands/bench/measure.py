"""`sparkiac bench run`: measure a server, or read the phases of its last start, and write a record."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from sparkiac.bench.measuring import BenchJob
from sparkiac.bench.target import BenchTarget
from sparkiac.commands.bench import starts
from sparkiac.commands.bench.starts import Deployed
from sparkiac.commands.inputs import Exit, answer, known, reject
from sparkiac.commands.inventories import omitted, only_inventory
from sparkiac.model.bench import BenchHost, BenchRecord, BenchSubject
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


class _Words(NamedTuple):
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
            return _startup(of, options["log"], options["output"], output_format)
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


def _parsed(words: tuple[str, ...], url: str | None) -> _Words:
    """Return the arguments; with --url only the mode."""
    names = 0 if url else 2
    if names and words and omitted(words[0]):
        words = (str(only_inventory()), *words)
    if not names <= len(words) <= names + 1:
        reject("name INVENTORY and DEPLOYMENT, or --url, and then at most one mode")
    from sparkiac.bench.points import MODES

    mode = known("mode", words[names], MODES) if len(words) > names else "single"
    return _Words(None, None, mode) if url else _Words(Path(words[0]), words[1], mode)


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
            reject(f"--levels must be {what} separated by commas, such as 1,2,4,8")
    return found


def _target(of: Deployed | None, options: dict[str, Any]) -> BenchTarget | Exit:
    from sparkiac.bench import target

    if of is not None:
        return planned_target(of.plan, of.name)
    if not _SERVER.match(options["url"]):
        reject("--url contains no server; write it with http:// or https://, such as http://192.168.1.11:8000")
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
    from sparkiac.commands.live import BenchProgress

    with BenchProgress(text=output_format == "text") as shown:
        result = measuring.measure(target, job, starts.now(), shown.on_progress)
    record = result.record
    if not (record.points or record.tools):
        return _nothing(job.seconds, record, output_format)
    path = output or starts.place(of.inventory if of else None, record)
    code = starts.report(of, record, path, output_format)
    if code is not Exit.OK:
        return code
    if record.interrupted:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if result.failed else Exit.OK


def _nothing(seconds: float, record: BenchRecord, output_format: str) -> Exit:
    from sparkiac.words import bench as words
    from sparkiac.words.page import Verbatim

    below = Verbatim(f"\nNothing was measured in {seconds:.0f} s.")
    data = {"path": None, "start": None, "not_used": None, "record": record.model_dump(mode="json")}
    answer(output_format, data, lambda _: (*words.page(record), below))
    return Exit.INTERRUPTED if record.interrupted else Exit.FINDINGS


class _StartupLog(NamedTuple):
    """A startup log, and what started."""

    text: str
    subject: BenchSubject
    before: Mapping[str, BenchHost]
    """Facts of the host, if the log is from its journal."""


def _startup(of: Deployed | None, log: Path | None, output: Path | None, output_format: str) -> Exit:
    """Read the log, write the record and show it."""
    from sparkiac import __version__
    from sparkiac.bench.starts import phases
    from sparkiac.model.bench import BenchRecord

    found = _of_file(of, log) if log or of is None else _of_journal(of)
    listed = phases(found.text)
    if not listed:
        click.echo("the log contains no complete start of vLLM", err=True)
        return Exit.FINDINGS
    record = BenchRecord(
        mode="startup",
        tool=f"sparkiac {__version__}",
        taken=starts.now(),
        subject=found.subject,
        before=dict(found.before),
        phases=listed,
    )
    path = output or starts.place(of.inventory if of else None, record)
    return starts.report(of, record, path, output_format, log=found.text)


def _of_file(of: Deployed | None, log: Path | None) -> _StartupLog:
    """Read a log file; without a deployment, its name is all that is known about the server."""
    from sparkiac.model.bench import BenchSubject

    if log is None:
        reject("mode startup with --url needs --log: the log of a start")
    text = log.read_text(encoding="utf-8", errors="replace")
    return _StartupLog(text, BenchSubject(url="", model=log.stem) if of is None else _subject(of), {})


def _of_journal(of: Deployed) -> _StartupLog:
    """Read the startup log from the journal of the host, and read which generation the host runs."""
    from sparkiac.bench import target
    from sparkiac.fleet.diagnosis import journal
    from sparkiac.fleet.query import endpoint
    from sparkiac.model.bench import BenchHost
    from sparkiac.upstream.programs import ProgramError

    host, container = target.leading(of.plan, of.name)
    there = endpoint(host)
    try:
        text = journal.printed(there.target, container.unit, port=there.port)[0]
    except ProgramError as error:
        click.echo(f"{host.name}: {error}", err=True)
        raise click.exceptions.Exit(Exit.IO) from None
    return _StartupLog(text, _subject(of), {host.name: BenchHost(), **target.host_facts((host,))})


def _subject(of: Deployed) -> BenchSubject:
    from sparkiac.bench import target
    from sparkiac.model.bench import BenchSubject

    host, container = target.leading(of.plan, of.name)
    served = next(iter(container.server.served), of.name)
    return target.subject_of(host, container, (host,), BenchSubject(url="", model=served))
