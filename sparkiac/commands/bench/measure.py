"""`sparkiac bench run`: measure a server and write a record."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sparkiac.commands.bench import startup
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import known, print_json, read, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.bench.measuring import Result, Wanted
    from sparkiac.bench.target import Target

_KEY: Final = "SPARKIAC_API_KEY"
_MODES: Final = ("single", "scenarios", "sweep", "rate", "depth", "speculation", "tools", "startup")
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
    given = _parsed(words, options["url"])
    levels = _levels(options["levels"])
    from sparkiac.upstream.streaming import ServerError

    try:
        if given.mode == "startup":
            return startup.run(given.inventory, given.deployment, options["log"], options["output"], output_format)
        target = _target(given, options, output_format)
        if isinstance(target, Exit):
            return target
        return _measure(target, given, options, levels, output_format)
    except ServerError as error:
        click.echo(str(error), err=True)
        return Exit.IO


def is_busy(target: Target) -> bool:
    """Return whether the server may serve clients, and say so."""
    from sparkiac.bench import counters

    found = counters.read(target.endpoint)
    busy = found.busy if found else None
    if busy != 0:
        click.echo(_UNKNOWN if busy is None else _BUSY.format(count=busy), err=True)
    return busy != 0


def _parsed(words: tuple[str, ...], url: str | None) -> _Words:
    """Return the arguments; with --url only the mode."""
    names = 0 if url else 2
    if not names <= len(words) <= names + 1:
        message = "name INVENTORY and DEPLOYMENT, or --url, and then at most one mode"
        raise click.UsageError(message)
    mode = known("mode", words[names], _MODES) if len(words) > names else "single"
    return _Words(None, None, mode) if url else _Words(Path(words[0]), words[1], mode)


def _levels(text: str | None) -> tuple[float, ...]:
    try:
        found = tuple(float(each) for each in text.split(",")) if text else ()
    except ValueError:
        found = (-1.0,)
    if any(each < 0 for each in found):
        message = "--levels must be numbers separated by commas, such as 1,2,4,8"
        raise click.UsageError(message)
    return found


def _target(given: _Words, options: dict[str, Any], output_format: str) -> Target | Exit:
    from sparkiac.bench import target
    from sparkiac.fleet.ask import Failure

    if given.inventory is None:
        return target.of_url(options["url"], options["model"], os.environ.get(_KEY))
    from sparkiac import pipeline
    from sparkiac.plan import startup_log

    outcome = pipeline.check(*read(given.inventory), allow_example=True, allow_unlocked=True)
    if outcome.plan is None:
        show(outcome.report, output_format)
        return Exit.BAD_INPUT
    name = known("deployment", given.deployment or "", startup_log.servers(outcome.plan))
    found = target.of_plan(outcome.plan, name)
    if isinstance(found, Failure):
        click.echo(f"{name}: {found.reason}; {found.hint}", err=True)
        return Exit.IO
    return found


def _measure(
    target: Target, given: _Words, options: dict[str, Any], levels: Sequence[float], output_format: str
) -> Exit:
    from sparkiac.bench import measuring
    from sparkiac.bench.points import Sizes
    from sparkiac.commands.bench import files, progress

    if not options["yes"] and is_busy(target):
        return Exit.BUSY
    thinking = None if options["thinking"] is None else options["thinking"] == "on"
    sizes = Sizes(options["prompt_tokens"], options["output_tokens"])
    seconds = options["minutes"] * 60
    wanted = measuring.Wanted(given.mode, sizes, tuple(levels), thinking, options["runs"], seconds, options["tool"])
    with progress.Progress(text=output_format == "text") as shown:
        result = measuring.measure(target, wanted, files.now(), shown.heard)
    return _report(result, wanted, options["output"] or files.place(given.inventory, result.record), output_format)


def _report(result: Result, wanted: Wanted, path: Path, output_format: str) -> Exit:
    from sparkiac.bench import records
    from sparkiac.commands.bench import files, page
    from sparkiac.formats import terminal

    record = result.record
    empty = not (record.points or record.tools)
    try:
        if not empty:
            files.write(path, records.text(record))
    except OSError as error:
        click.echo(f"{click.format_filename(path)}: {error.strerror}", err=True)
        return Exit.IO
    if output_format == "json":
        print_json({"path": None if empty else str(path), "record": record.model_dump(mode="json")})
    else:
        terminal.show(page.page(record))
        click.echo(f"\n{f'Nothing was measured in {wanted.seconds:.0f} s.' if empty else f'Record: {path}'}")
    if record.interrupted:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if empty or result.failed else Exit.OK
