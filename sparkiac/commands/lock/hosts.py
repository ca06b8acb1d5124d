"""`sparkiac lock --hosts`: pin the software that hosts run."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from pydantic import ValidationError

from sparkiac.commands.inputs import Exit, answer, known, lock_path, read, show
from sparkiac.model.lock import HostSet, LockedHosts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.fleet.facts import Software
    from sparkiac.fleet.problems import Problem
    from sparkiac.fleet.query import HostFailure
    from sparkiac.lock.hosts import HostChange
    from sparkiac.plan import HostPlan
    from sparkiac.words.page import Blocks


_REVIEW: Final = timedelta(days=30)
"""Time after which somebody decides again about what a pin withholds."""


class _HostPins(NamedTuple):
    """What is pinned, what changes, and what there is to say about each host."""

    state: str
    lock: Path
    changes: tuple[HostChange, ...]
    remarks: tuple[tuple[str, Problem], ...]
    failures: dict[str, HostFailure]


def pin(inventory: Path, names: tuple[str, ...], output_format: str, *, upgrade: bool, dry_run: bool) -> int:
    """Pin the hosts that the lock lacks and, with `upgrade`, all others too, or those that are named."""
    from sparkiac import pipeline
    from sparkiac.commands import editing
    from sparkiac.lock import hosts as pins
    from sparkiac.lock import merge

    files = read(inventory)
    state = pipeline.lock_state(*files)
    if state.plan is None:
        show(state.report, output_format)
        return Exit.BAD_INPUT
    fleet = {host.name: host for host in state.plan.hosts}
    chosen = {known("host", name, fleet) for name in names} or {*fleet}
    found, failures = _read(fleet.values())
    today = datetime.now(UTC).date()
    now = sets(found, failures, today)
    former = (state.lock and state.lock.hosts) or LockedHosts()
    new = pins.merged(former, now, fleet, upgraded=chosen if upgrade else ())
    document = state.documents[1] if state.documents else None
    data = {**merge.former(document), "hosts": pins.plain(new)}
    raw = pipeline.lock_text(files[1], {key: data[key] for key in merge.ORDER if data.get(key) or key == "images"})
    changed = new != former
    target = lock_path(inventory)
    if changed and not dry_run and not editing.replaced(target, files[1] and files[1].raw, raw, during="run"):
        return Exit.BUSY
    text = "up to date" if not changed else "would be written" if dry_run else "written"
    remarks = tuple(_remarks(fleet, new, found, now, today))
    _show(_HostPins(text, target, tuple(pins.changes(former, new)), remarks, failures), output_format)
    return Exit.IO if failures else Exit.STALE if changed and dry_run else Exit.OK


def _read(hosts: Iterable[HostPlan]) -> tuple[dict[str, Software], dict[str, HostFailure]]:
    from sparkiac.fleet import machine, query

    read = {host.name: result for host, result in machine.software(map(query.endpoint, hosts))}
    failures = {name: each for name, each in read.items() if isinstance(each, query.HostFailure)}
    return {name: each for name, each in read.items() if not isinstance(each, query.HostFailure)}, failures


def sets(found: dict[str, Software], failures: dict[str, HostFailure], today: date) -> dict[str, HostSet]:
    """Return the sets of the hosts; one whose packages have impossible names or versions is a failure."""
    from sparkiac.fleet.query import HostFailure
    from sparkiac.lock import hosts as pins

    made = {}
    for name, software in found.items():
        try:
            made[name] = pins.pinned(software.model_dump(), today.isoformat(), (today + _REVIEW).isoformat())
        except ValidationError as error:
            place = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
            failures[name] = HostFailure(f"it reports an impossible value: {place}", "check dpkg and /proc there")
    return made


def pin_first(path: Path, found: dict[str, Software]) -> None:
    """Add the software of these hosts to a new lock, unless one has impossible values."""
    from sparkiac import pipeline, write
    from sparkiac.lock import hosts as pins

    failures: dict[str, HostFailure] = {}
    now = sets(found, failures, datetime.now(UTC).date())
    lock = pipeline.InputFile(str(path), path.read_bytes())
    data = {"version": 1, "images": {}, "hosts": pins.plain(pins.merged(LockedHosts(), now, now, upgraded=()))}
    if not failures:
        write.replace(path, pipeline.lock_text(lock, data))


def _remarks(
    fleet: dict[str, HostPlan], new: LockedHosts, found: dict[str, Software], now: dict[str, HostSet], today: date
) -> Iterator[tuple[str, Problem]]:
    """Yield what differs on hosts from their pins, which kernel starts next, and what the pins withhold."""
    from sparkiac.fleet import problems

    for name in (name for name in fleet if name in now):
        pins = new.of(name)
        if found[name].next_kernel:
            yield name, problems.Problem("warning", None, f"the next boot starts {problems.next_boot(found[name])}")
        if pins is not None:
            for what, pinned, runs in pins.differing(now[name]):
                hint = f"--upgrade {name} pins what runs"
                yield name, problems.Problem("drift", None, f"{what} is {runs}, pinned {pinned}", hint)
            yield from ((name, each) for each in problems.price(pins, found[name].updates, today))


def _show(result: _HostPins, output_format: str) -> None:
    data = {
        "lock": str(result.lock),
        "state": result.state,
        "changes": [each._asdict() for each in result.changes],
        "remarks": [{"host": host, **each._asdict()} for host, each in result.remarks],
        "failures": {name: each.reason for name, each in result.failures.items()},
    }
    answer(output_format, data, lambda _: _page(result))


def _page(result: _HostPins) -> Blocks:
    from sparkiac.words import lock as words

    yield from words.hosts(result.changes)
    for host, each in result.remarks:
        yield f"{host}: {each.text}{f'; {each.hint}' if each.hint else ''}"
    for name, failure in result.failures.items():
        yield f"{name}: not read: {failure.reason}{f'; {failure.hint}' if failure.hint else ''}"
    yield f"{click.format_filename(result.lock)}: {result.state}"
