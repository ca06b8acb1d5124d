"""Records of measurements: files, the page, and the recorded start for the next plan.

A start is recorded only if the hosts run what the inventory describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import click

from sparkiac.commands import editing
from sparkiac.commands.inputs import Exit, answer, known, measurements_path, planned, reject
from sparkiac.model.bench import BenchRecord
from sparkiac.model.records import StartRecord, StartSubject
from sparkiac.plan import HostPlan, Plan

_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_UNPINNED = "the lock does not pin its image and its model; run sparkiac lock"
_NOTHING = (
    "it has no speed that a plan uses: at least 3 rounds without other clients and errors, and 64 generated tokens for "
    "decode, 1,000 tokens of prompt for prefill, or several concurrent requests"
)


def now() -> str:
    """Return the date and time, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(inventory: Path | None, record: BenchRecord) -> Path:
    """Return the path of a new record."""
    subject = record.subject
    name = "".join(each if each in _SAFE else "-" for each in subject.title.lower())
    moment = record.taken.replace(":", "").replace("-", "")
    folder = (inventory.parent if inventory else Path()) / "measurements/bench"
    return folder / f"{name}-{record.mode}-{moment}.json"


def store(path: Path, text: str) -> None:
    """Write a file and its directory. The file is complete or unchanged. Raises OSError."""
    from sparkiac import write

    path.parent.mkdir(parents=True, exist_ok=True)
    write.replace(path, text.encode())


def read(path: Path) -> BenchRecord:
    """Read a record, or the output of another benchmark."""
    from sparkiac.bench import foreign

    try:
        return foreign.read(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError) as error:
        reject(f"{click.format_filename(path)}: {getattr(error, 'strerror', error)}")


def plot(path: Path, listed: Sequence[tuple[str, BenchRecord]]) -> Exit:
    """Write the chart of one or two records."""
    from sparkiac.bench import chart

    drawn = chart.svg(listed)
    if drawn is None:
        click.echo("the record has no samples to draw", err=True)
        return Exit.FINDINGS
    with editing.writing(path):
        store(path, drawn)
    click.echo(f"Chart: {path}", err=True)
    return Exit.OK


class Deployed(NamedTuple):
    """A deployment of an inventory that was measured."""

    inventory: Path
    name: str
    plan: Plan
    records: tuple[StartRecord, ...]
    """Recorded starts beside the inventory."""

    @property
    def host(self) -> HostPlan:
        """Return the host whose container answers requests."""
        from sparkiac.plan import startup_log

        return startup_log.servers(self.plan)[self.name]

    @property
    def subject(self) -> StartSubject:
        """Return what must be equal in a record before it counts for this deployment."""
        subject = self.host.proofs[self.name].subject
        assert subject is not None, "a planned deployment has one"  # noqa: S101  for the type checker
        return subject


def deployed(inventory: Path, name: str, output_format: str) -> Deployed:
    """Return a deployment of an inventory."""
    from sparkiac.plan import startup_log

    files, plan, _ = planned(inventory, output_format)
    known("deployment", name, startup_log.servers(plan))
    return Deployed(inventory, name, plan, files[0].records)


class Kept(NamedTuple):
    """The recorded start of a run, or why there is none."""

    path: Path | None = None
    reason: str = ""

    @property
    def line(self) -> str:
        """Return the line for the terminal."""
        return f"For the next plan: {self.path}" if self.path else f"Not used by the next plan: {self.reason}"


def report(of: Deployed | None, found: BenchRecord, path: Path, output_format: str, log: str | None = None) -> Exit:
    """Write the bench record and the recorded start for the next plan, and show both. `log` is the startup log."""
    from sparkiac.bench import measuring
    from sparkiac.words import bench as words
    from sparkiac.words.page import Verbatim

    with editing.writing(path):
        store(path, measuring.text(found))
        kept = None if of is None else keep(of, found, path, log)
    start, reason = (str(kept.path) if kept.path else None, kept.reason or None) if kept else (None, None)
    data = {"path": str(path), "start": start, "not_used": reason, "record": found.model_dump(mode="json")}
    below = [f"\nRecord: {path}", *([kept.line] if kept else [])]
    answer(output_format, data, lambda _: (*words.page(found), *map(Verbatim, below)))
    return Exit.OK


def keep(of: Deployed, found: BenchRecord, path: Path, log: str | None = None) -> Kept:
    """Write what the next plan uses of a run: speeds, or the memory figures of a log. Raises OSError.

    A log from a file has no facts of the hosts: the user is responsible that it is a log of this inventory.
    """
    if None in {of.subject.digest, of.subject.commit}:
        return Kept(reason=_UNPINNED)
    reason = "" if found.mode == "startup" and not found.before else _differing(of, found)
    if reason:
        return Kept(reason=reason)
    if log is not None:
        return _memory(of, log, _link(of, path))
    from sparkiac.bench import starts

    record = starts.recorded(of.subject, found, _link(of, path))
    return _stored(of, record) if record else Kept(reason=_NOTHING)


def _memory(of: Deployed, log: str, link: str) -> Kept:
    from sparkiac.plan import start_records, startup_log

    compared = startup_log.compare_log(of.name, of.host, log)
    if compared is None or compared.refused:
        return Kept(reason="; ".join(compared.refused) if compared else "the log has no memory figures")
    return _stored(of, start_records.from_log(of.subject, compared.found, link=link))


def _stored(of: Deployed, record: StartRecord) -> Kept:
    return Kept(editing.store(of.inventory, of.name, record, of.records))


def _link(of: Deployed, path: Path) -> str:
    """Return the path of a bench record, relative to the folder of measurements if it is inside."""
    folder = measurements_path(of.inventory)
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def _differing(of: Deployed, found: BenchRecord) -> str:
    """Return why the hosts may have run something else than the inventory describes; empty if they did not."""
    from sparkiac import pipeline
    from sparkiac.commands.apply import tree

    wanted = tree.generations(pipeline.render(of.plan))
    for name in found.subject.hosts:
        for facts in (found.before.get(name), found.after.get(name, found.before.get(name))):
            running = facts.generation if facts else None
            if running is None:
                return f"{name} did not report its generation"
            if running != wanted.get(name):
                return (
                    f"{name} runs another generation than {of.inventory.name} gives; run sparkiac apply, then measure"
                )
    return ""
