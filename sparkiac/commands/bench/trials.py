"""`sparkiac bench tune`: try changes of a deployment on its hosts, and print the better ones as a patch.

A trial is a changed inventory, its tree, the switch of the hosts, and a measurement.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple, Self

import click

from sparkiac.bench.measuring import BenchJob
from sparkiac.bench.tuning import Better, Edits, OptionChange, Trial
from sparkiac.commands import editing, prompts
from sparkiac.commands.apply.options import AnsibleOptions
from sparkiac.commands.apply.tree import GeneratedFleet
from sparkiac.commands.inputs import Exit, known, reject
from sparkiac.model.bench import BenchRecord
from sparkiac.plan import Plan

_CONCURRENCY: Final = 8
"""Concurrent requests of the goal `throughput`."""
_TIMES: Final = 2
"""A trial starts only if twice the time of the longest one is left: for itself, and for the former options."""
_STUCK: Final = "The hosts were not switched back to {path}: run sparkiac apply. Ansible's output: {log}"


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
    from sparkiac.plan import startup_log
    from sparkiac.upstream import playbook
    from sparkiac.upstream.programs import ProgramError

    given = options.parse(ansible)
    try:
        playbook.program("ansible-playbook")
    except ProgramError as error:
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
        bed = Bed(inventory, deployment, fleet, given, job, Path(folder), until_s)
        return _run(bed, listed, search.goal, search.output)


def _ask(name: str, listed: tuple[OptionChange, ...], minutes: float, *, yes: bool) -> None:
    click.echo(f"Changes to try, each with a restart of {name}, in at most {minutes:g} minutes:", err=True)
    for change in listed:
        click.echo(f"  {change.text}", err=True)
    if not yes:
        prompts.agree("Start?")


def _run(bed: Bed, listed: tuple[OptionChange, ...], goal: str, output: Path | None) -> Exit:
    """Search, restore the former options in any case, and report."""
    from sparkiac.bench import tuning
    from sparkiac.upstream.streaming import ServerError

    tried: list[Trial] = []
    hosts = Hosts(bed)
    try:
        base = _present(bed, "the present options")
        if isinstance(base, Exit):
            return base
        with hosts:
            for trial in tuning.search(base, listed, goal, hosts.try_):
                tried.append(trial)
                click.echo(_line(trial), err=True)
        if hosts.away:
            return Exit.FINDINGS
        again = _present(bed, "the present options again") if any(each.kept for each in tried) else base
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except ServerError as error:
        click.echo(str(error), err=True)
        return Exit.IO
    return again if isinstance(again, Exit) else _report(bed, tuning.result(tried, again, goal), output)


def _report(bed: Bed, found: Better, output: Path | None) -> Exit:
    from sparkiac.commands.bench import starts
    from sparkiac.write.preview import diff_of

    if not found.edits:
        click.echo("No change made it better beyond the noise; the inventory stays as it is.", err=True)
        return Exit.OK
    raw = bed.inventory.read_bytes()
    patch = diff_of(bed.inventory.as_posix(), raw, _edited(raw, found.edits))
    row = found.row
    if row is not None:
        click.echo(f"{row.quantity}: {row.first:.4g} → {row.second:.4g} {row.unit} ({row.change:+.1%})", err=True)
    if output is None:
        click.echo(patch, nl=False)
        return Exit.OK
    with editing.writing(output):
        starts.store(output, patch)
    click.echo(f"Patch: git apply {click.format_filename(output)}", err=True)
    return Exit.OK


class Bed(NamedTuple):
    """Settings and paths of all trials."""

    inventory: Path
    name: str
    """Deployment."""
    fleet: GeneratedFleet
    """The tree to which the hosts return."""
    options: AnsibleOptions
    job: BenchJob
    folder: Path
    """Directory for the trees of trials, and for Ansible's output."""
    until_s: float

    @property
    def log(self) -> Path:
        """Return the file of Ansible's output."""
        return self.folder / "ansible.log"


class Hosts:
    """Applies trees to the hosts. At the end of the context, the hosts go back to the original tree."""

    def __init__(self, bed: Bed) -> None:
        """Prepare trials; nothing changes on the hosts yet."""
        self._bed = bed
        self.away = False
        """Whether the hosts have another tree."""
        self._longest_s = 0.0
        self._number = 0

    def __enter__(self) -> Self:
        """Return the hosts."""
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the former options, also after an interrupt."""
        if not self.away:
            return
        click.echo("Restoring the original options …", err=True)
        try:
            self.away = bool(_apply(self._bed, self._bed.fleet))
        finally:
            if self.away:
                click.echo(_STUCK.format(path=self._bed.fleet.path, log=_saved(self._bed)), err=True)

    def try_(self, edits: Edits) -> BenchRecord | str | None:
        """Apply a changed inventory and measure; return why that failed, or None if there is no time left."""
        began = time.monotonic()
        if self._bed.until_s - began < _TIMES * self._longest_s:
            return None
        fleet = self._tree(edits)
        if isinstance(fleet, str):
            return fleet
        self.away = True
        if reason := _apply(self._bed, fleet):
            return reason
        found = _measured(self._bed, f"trial {self._number}", fleet.plan)
        self._longest_s = max(self._longest_s, time.monotonic() - began)
        return "the server is busy or does not respond" if isinstance(found, Exit) else found

    def _tree(self, edits: Edits) -> GeneratedFleet | str:
        """Write the tree of a changed inventory; return the first error if it has one."""
        from sparkiac import __version__, pipeline, write
        from sparkiac.commands.apply.tree import GeneratedFleet, generations
        from sparkiac.commands.inputs import hashes, read

        inventory, lock = read(self._bed.inventory)
        changed = inventory._replace(raw=_edited(inventory.raw, edits))
        outcome = pipeline.check(changed, lock)
        if outcome.plan is None or outcome.report.failed:
            return next((each.message for each in outcome.report.findings if each.severity.name == "ERROR"), "refused")
        self._number += 1
        path = self._bed.folder / str(self._number)
        artifacts = pipeline.render(outcome.plan)
        write.commit(artifacts, path, inputs=hashes((changed, lock)), generator=__version__)
        return GeneratedFleet(outcome.plan, path, generations(artifacts))


def _edited(raw: bytes, edits: Edits) -> bytes:
    """Return the text of an inventory with some changes."""
    from sparkiac.fix.edits import edited as changed

    return changed(raw.decode(), edits).encode()


def _present(bed: Bed, what: str) -> BenchRecord | Exit:
    """Measure the deployment with its present options, also for the next plan."""
    from sparkiac.commands.bench import starts
    from sparkiac.commands.inputs import read

    found = _measured(bed, what, bed.fleet.plan)
    if isinstance(found, Exit):
        return found
    of = starts.Deployed(bed.inventory, bed.name, bed.fleet.plan, read(bed.inventory)[0].records)
    click.echo(starts.keep(of, found, _place(bed, found, what)).line, err=True)
    return found


def _measured(bed: Bed, what: str, plan: Plan) -> BenchRecord | Exit:
    """Measure the deployment as a plan has it, and write the record."""
    from sparkiac.bench import measuring
    from sparkiac.commands.bench import measure, starts
    from sparkiac.commands.live import BenchProgress

    click.echo(f"Measuring {what} …", err=True)
    found = measure.planned_target(plan, bed.name)
    if isinstance(found, Exit):
        return found
    if measure.is_busy(found):
        return Exit.BUSY
    with BenchProgress(text=True) as shown:
        result = measuring.measure(found, bed.job, starts.now(), shown.on_progress)
    starts.store(_place(bed, result.record, what), measuring.text(result.record))
    if result.record.interrupted:
        raise KeyboardInterrupt
    return result.record


def _place(bed: Bed, record: BenchRecord, what: str) -> Path:
    from sparkiac.commands.bench import starts

    path = starts.place(bed.inventory, record)
    return path.with_name(f"{path.stem}-{what.replace(' ', '-')}.json")


def _line(trial: Trial) -> str:
    """Return one line about a trial."""
    if trial.row is None:
        return f"  {trial.change.text}: not measured: {trial.reason}"
    row = trial.row
    kept = "kept" if trial.kept else "not kept"
    return f"  {trial.change.text}: {row.quantity} {row.change:+.1%}, {row.verdict}; {kept}"


def _saved(bed: Bed) -> Path:
    """Copy Ansible's output to a place that remains, and return it."""
    kept = Path(tempfile.mkdtemp(prefix="sparkiac-tune-")) / "ansible.log"
    shutil.copyfile(bed.log, kept)
    return kept


def _apply(bed: Bed, fleet: GeneratedFleet) -> str:
    """Switch the hosts to a tree; return why it failed, or an empty text."""
    from sparkiac.commands.apply import session

    hosts = [host.name for host in fleet.plan.hosts if any(each.name == bed.name for each in host.containers)]
    applied = session.change(fleet, bed.options, bed.log, hosts)
    return "" if applied.code is Exit.OK else "; ".join(applied.reasons) or "the apply failed"
