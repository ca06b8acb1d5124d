"""`sparkiac lock`: resolve tags, revisions and files to exact versions in the lock file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sparkiac.commands.inputs import FORMAT, Exit, captures, known, lock_path, planned, read, reject, show
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.fleet.query import SshEndpoint
    from sparkiac.lock.merge import Key, LockEntry
    from sparkiac.model.lock import Lock
    from sparkiac.pipeline import InputFile, Locked, LockState
    from sparkiac.report import Finding

_FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)
_OPTIONS: Final = ("record", "only_check", "upgrade", "verify", "dry_run")
_ALONE: Final = 2
"""Number of leading entries of `_OPTIONS` that cannot be combined with any other option."""


class _Run(NamedTuple):
    """Inputs of one run."""

    path: Path
    """The lock."""
    files: tuple[InputFile, InputFile | None]
    """Inventory and lock, as they were read."""
    state: LockState
    output_format: str


@click.command()
@INVENTORY
@click.argument("names", nargs=-1, metavar="[NAME]...")
@FORMAT
@click.option(
    "--upgrade", is_flag=True, help="Update pins to the current upstream versions: all, or those of each NAME."
)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Write nothing; exit 3 if the lock is incomplete. Sends no requests without --online.",
)
@click.option(
    "--online", is_flag=True, help="With --check: compare every pin with its server; exit 3 if a value differs."
)
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would change; exit 3 if anything would.")
@click.option("--verify", is_flag=True, help="Verify the signatures of all images and record the results.")
@click.option("--key", type=_FILE, help="Public key that cosign uses with --verify.")
@click.option("--own-models", is_flag=True, help="Read the models of `own_models` on their hosts, over SSH.")
@click.option(
    "--record", type=_FILE, help="Pin only the image of a local build, from the record that builds/NAME/build wrote."
)
@click.option(
    "--hosts",
    is_flag=True,
    help="Pin the software that hosts run, read over SSH: kernel, driver, toolkit, Docker. NAME is a host.",
)
def lock(inventory: Path, names: tuple[str, ...], output_format: str, **options: Any) -> int:  # noqa: ANN401
    """Resolve image tags, model revisions and files of INVENTORY to exact versions and write them to its lock.

    Requests are sent only for missing pins. Existing pins do not change without --upgrade, which prints each change
    before it is written. NAME is an image, a model or a file as in the inventory, or a deployment, service or build,
    which stands for all its pins.

    --check --online requests every pin and compares digests, commits, sizes and hashes; it names the pins that could
    not be compared.

    --own-models reads the models of `own_models` where they lie; without it, their pins stay. --hosts pins the
    software of the hosts that the lock lacks, and with --upgrade again that of all hosts or of each NAME. It says what
    the pins withhold, and when their review is due. No other form of this command contacts a host.

    Exit codes: 0 the lock is complete, 1 upstream refused a request, 2 bad input, 3 --check or --dry-run found
    changes, 5 the lock changed during the run, 6 no response from upstream, or the lock cannot be written. The lock is
    replaced as a whole or not at all.
    """
    _refuse_mixtures(names, options)
    if options["hosts"]:
        from sparkiac.commands.lock import hosts

        return hosts.pin(inventory, names, output_format, upgrade=options["upgrade"], dry_run=options["dry_run"])
    if options["record"] is not None:
        return _record(inventory, options["record"])
    from sparkiac import pipeline

    files = read(inventory)
    state = pipeline.lock_state(*files)
    run = _Run(lock_path(inventory), files, state, output_format)
    if state.plan is None:
        return _refuse(run, ())
    if options["only_check"]:
        return _check(run, options)
    upgraded = _named(names, state, options) if options["upgrade"] else frozenset()
    found, failed = _requested(run, upgraded, options)
    if failed or state.report.findings:
        return _refuse(run, failed)
    return _write(run, pipeline.locked(*files, state, found), dry_run=options["dry_run"])


def _refuse_mixtures(names: tuple[str, ...], options: dict[str, Any]) -> None:
    given = [name for name in _OPTIONS if options[name]]
    message = ""
    if names and not options["upgrade"]:
        message = f"{names[0]!r} selects pins to upgrade; add --upgrade"
    if options["online"] and not options["only_check"]:
        message = "--online needs --check"
    if options["key"] and not options["verify"]:
        message = "--key needs --verify"
    if len(given) > 1 and given[0] in _OPTIONS[:_ALONE]:
        first, second = (f"--{name.removeprefix('only_').replace('_', '-')}" for name in given[:2])
        message = f"{first} and {second} exclude each other"
    alone = [name for name in given if name not in {"upgrade", "dry_run"}]
    if options["hosts"] and (wrong := [*alone, *(["own-models"] if options["own_models"] else [])]):
        message = f"--hosts and --{wrong[0].removeprefix('only_')} exclude each other"
    if message:
        reject(message)


def _named(names: tuple[str, ...], state: LockState, options: dict[str, Any]) -> frozenset[Key]:
    """Return the pins that the names select; without a name all of them, those on hosts only with --own-models."""
    if not names:
        return frozenset(pin.key for pin in state.pins if not pin.own or options["own_models"])
    by_name: dict[str, set[Key]] = {}
    for pin in state.pins:
        for name in (pin.name, *pin.users):
            by_name.setdefault(name, set()).add(pin.key)
    what = "image, model, file, deployment, service or build"
    return frozenset(key for name in names for key in by_name[known(what, name, by_name)])


def _requested(
    run: _Run, upgraded: frozenset[Key], options: dict[str, Any]
) -> tuple[dict[Key, LockEntry], list[Finding]]:
    """Request missing and upgraded pins. Without requests, the network modules are not imported."""
    from sparkiac.lock import findings, merge

    pins, lock = run.state.pins, run.state.lock
    requests = merge.requests(lock, pins, upgraded=upgraded)
    if not requests and not options["verify"]:
        return {}, []
    from sparkiac.commands.lock.requests import Signatures, send

    key = options["key"]
    signatures = Signatures(pins, lock, str(key) if key else None) if options["verify"] else None
    responses = send(requests, signatures, _hosts(run.state, options))
    by_key = {pin.key: pin for pin in pins}
    failed = responses.errors.items()
    return responses.found, [findings.refused(by_key[one], each.code, str(each), each.hint) for one, each in failed]


def _hosts(state: LockState, options: dict[str, Any]) -> dict[str, SshEndpoint]:
    """Return the hosts that may be read."""
    from sparkiac.fleet.query import endpoint

    return {host.name: endpoint(host) for host in state.plan.hosts} if state.plan and options["own_models"] else {}


def _refuse(run: _Run, failed: Iterable[Finding]) -> int:
    """Print all findings and write nothing."""
    from sparkiac.lock.findings import only_missing_responses
    from sparkiac.report import Report

    findings = (*run.state.report.findings, *failed)
    show(Report.of(findings), run.output_format)
    if run.state.plan is None:
        return Exit.BAD_INPUT
    return Exit.IO if only_missing_responses(findings) else Exit.FINDINGS


def _check(run: _Run, options: dict[str, Any]) -> int:
    """Print missing pins and, with --online, pins that differ from their servers."""
    from sparkiac import pipeline
    from sparkiac.report import Report

    report = pipeline.stale(run.state)
    outdated = _outdated(run, run.state.lock)
    if options["online"]:
        hosts = _hosts(run.state, options)
        return _compare(run, (*report.findings, *outdated), hosts, complete=not report.findings)
    show(Report.of((*report.findings, *outdated)), run.output_format)
    if run.output_format == "text" and not report.findings:
        click.echo(f"{run.path}: complete")
    return Exit.STALE if report.findings else Exit.OK


def _compare(run: _Run, findings: Iterable[Finding], hosts: dict[str, SshEndpoint], *, complete: bool) -> int:
    """Compare all pins with their servers; print what differs and what was not compared."""
    from sparkiac.commands.lock import requests
    from sparkiac.report import Report
    from sparkiac.words import lock as words

    found = requests.checked(run.state, hosts)
    everything = Report.of((*findings, *found.differences, *found.failures))
    show(everything, run.output_format, **words.compared_data(found.comparison))
    if run.output_format == "text":
        click.echo(f"{click.format_filename(run.path)}: {words.compared(found.comparison)}")
    code = found.exit_code()
    return code if complete or code is not Exit.OK else Exit.STALE


def _write(run: _Run, new: Locked, *, dry_run: bool) -> int:
    from sparkiac.commands import editing
    from sparkiac.pipeline import InputFile, read_lock
    from sparkiac.report import Report
    from sparkiac.words import lock as words

    former = run.files[1].raw if run.files[1] else None
    changed = new.raw != former
    written = changed and not dry_run
    if run.output_format == "text":
        click.echo(words.text(new.changes) + words.demands(new.plan), nl=False)
    if written and not editing.replaced(run.path, former, new.raw, during="run"):
        return Exit.BUSY
    state = "written" if written else "would be written" if changed else "up to date"
    data = {"lock": str(run.path), "state": state, "moves": words.data(new.changes)}
    outdated = _outdated(run, read_lock(InputFile(str(run.path), new.raw)).value)
    show(Report.of((*new.report.findings, *outdated)), run.output_format, **data)
    if run.output_format == "text":
        click.echo(f"{run.path}: {state}")
    return Exit.STALE if changed and dry_run else Exit.OK


def _outdated(run: _Run, lock: Lock | None) -> list[Finding]:
    """Return findings for captured interfaces whose image has another digest in the lock."""
    from sparkiac.lock.findings import outdated

    inventory = Path(run.files[0].name)
    if lock is None:
        return []
    captured = {f"interfaces/{name}": each for name, each in captures(inventory).items()}
    return [*outdated(run.state.pins, lock, captured, inventory=str(inventory))]


def _record(inventory: Path, record: Path) -> int:
    """Pin the image of a local build."""
    from sparkiac import pipeline, write
    from sparkiac.lock.merge import RecordError

    (_, lock), plan, _ = planned(inventory)
    target = lock_path(inventory)
    try:
        text = pipeline.record(plan, lock, record.read_bytes())
    except RecordError as error:
        click.echo(f"{click.format_filename(record)}: {error}", err=True)
        return Exit.BAD_INPUT
    if lock is not None and lock.raw == text:
        click.echo(f"{target}: up to date")
        return Exit.OK
    write.replace(target, text)
    click.echo(f"{target}: written")
    return Exit.OK
