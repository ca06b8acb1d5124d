"""`sparkiac restore`: put back what `sparkiac backup` has saved, into the repository and onto hosts."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.backup import PASSPHRASE_FILE, SECRETS, place, read_passphrase, split
from sparkiac.commands.inputs import Exit, known, planned, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sparkiac.host.sent.saved import SavedItem
    from sparkiac.plan import HostPlan
    from sparkiac.write.backup import Backup

_REPOSITORY: Final = "repository"
_SAME: Final = "the same, stays"
_MISSING: Final = "missing, is put back"
_OLDER: Final = "differs, is replaced"
_NEWER: Final = "newer than the backup ({}), is replaced"
_OWN: Final = "of the host itself, stays"


class _Step(NamedTuple):
    """What happens to a file of the repository, or to an item of a host."""

    where: str
    """Name of the host, or `repository`."""
    path: str
    what: str
    item: SavedItem | None = None
    """The item as it was saved; None for a file of the repository."""


@click.command()
@click.argument("words", nargs=-1, metavar="[INVENTORY] FILE [HOST]...")
@click.option("--yes", is_flag=True, help="Do it without a question, also where something is newer than the backup.")
@PASSPHRASE_FILE
def restore(words: tuple[str, ...], passphrase: IO[bytes] | None, *, yes: bool) -> int:
    """Put what FILE, a backup of INVENTORY, contains back into the repository and onto its hosts, or only each HOST.

    First all of FILE is checked, and compared with what is there. The list says what is missing and will be put back,
    what is the same and stays, and what is newer than the backup; then it asks. Files get their modes and times, on
    hosts also their owners. Data of a service replace what is there as a whole, and its unit is stopped meanwhile. A
    host that has a history keeps it. Restore a host that was installed again before its first apply.

    Exit codes: 0 done or nothing to do, 2 bad input, a wrong passphrase or a damaged file, 6 a host or file cannot be
    read or written; the other hosts are restored. 130 answered with no.
    """
    inventory, file, hosts = split(words)
    if not file.is_file():
        reject(f"there is no file {click.format_filename(file)}")
    plan = planned(inventory).plan
    names = [host.name for host in plan.hosts]
    chosen = {known("host", each, names) for each in hosts}
    if not (yes or os.isatty(0)):
        reject("a confirmation needs a terminal: add --yes")
    secret = read_passphrase(passphrase, twice=False)
    saved = _opened(file, secret, plan.name)
    steps = [] if chosen else [*_of_repository(saved, inventory)]
    reached: dict[str, HostPlan] = {}
    for host in plan.hosts:
        if host.name in saved.hosts and (host.name in chosen or not chosen):
            found = _of_host(host, saved)
            reached |= {host.name: host} if found is not None else {}
            steps += found or ()
    lost = len(reached) < len(chosen or [name for name in names if name in saved.hosts])
    code = Exit.IO if lost else Exit.OK
    for each in steps:
        click.echo(f"{each.where}  {each.path}  {each.what}")
    due = [each for each in steps if each.what not in {_SAME, _OWN}]
    if not due:
        click.echo("nothing to restore")
        return code
    if not yes:
        click.confirm(f"Restore {len(due)} of them?", err=True, abort=True)
    _write(saved, due, inventory)
    return max(code, *[_restore(host, due, file, secret) for host in reached.values()], Exit.OK)


def _opened(file: Path, secret: bytes, name: str) -> Backup:
    """Read the backup; end with exit code 2 if it is damaged or of another inventory."""
    from sparkiac.write import backup

    try:
        found = backup.read(file, secret)
    except backup.BackupError as error:
        reject(f"{click.format_filename(file)} {error}")
    if found.about["name"] != name:
        reject(f"{click.format_filename(file)} is a backup of {found.about['name']}, not of {name}")
    click.echo(f"{click.format_filename(file)}: backup of {name}, {_moment(found.about['time'])}")
    return found


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _of_repository(saved: Backup, inventory: Path) -> Iterator[_Step]:
    for name, file in saved.files.items():
        path = place(name, inventory)
        if not path.exists():
            what = _MISSING
        elif path.read_bytes() == file.content:
            what = _SAME
        else:
            what = _differs(int(path.stat().st_mtime), file.changed)
        yield _Step(_REPOSITORY, name, what)


def _differs(changed: int, before: int) -> str:
    return _NEWER.format(_moment(changed)) if changed > before else _OLDER


def _of_host(host: HostPlan, saved: Backup) -> list[_Step] | None:
    """Compare a host with the backup; None if it cannot be read."""
    from sparkiac.fleet import saves
    from sparkiac.upstream.programs import ProgramError

    try:
        present = {each.path: each for each in saves.look(host)}
        items = saves.items(saved.hosts[host.name])
    except (ProgramError, ValueError) as error:
        click.echo(f"{host.name}: {error}", err=True)
        return None
    return [_Step(host.name, each.path, _of_item(each, present), each) for each in items]


def _of_item(item: SavedItem, present: Mapping[str, SavedItem]) -> str:
    from sparkiac.host.switch.history import HISTORY

    found = present.get(item.path)
    if found is None:
        return _MISSING
    if found.sha256 == item.sha256:
        return _SAME
    if item.path == HISTORY:
        return _OWN
    return _differs(found.changed, item.changed)


def _write(saved: Backup, due: Sequence[_Step], inventory: Path) -> None:
    """Write the files of the repository."""
    from sparkiac.write import replace

    for each in due:
        if each.where == _REPOSITORY and each.item is None:
            file, path = saved.files[each.path], place(each.path, inventory)
            path.parent.mkdir(mode=0o700 if path.parent == SECRETS else 0o777, parents=True, exist_ok=True)
            replace(path, file.content, mode=file.mode)
            os.utime(path, (file.changed, file.changed))


def _restore(host: HostPlan, due: Sequence[_Step], file: Path, secret: bytes) -> Exit:
    """Restore the items of a host, and print the result."""
    from sparkiac.fleet import saves
    from sparkiac.upstream.programs import ProgramError
    from sparkiac.write import backup

    items = [each.item for each in due if each.where == host.name and each.item is not None]
    if not items:
        return Exit.OK
    try:
        saves.restore(host, items, backup.parts(file, secret, host.name))
    except ProgramError as error:
        click.echo(f"{host.name}: {error}", err=True)
        return Exit.IO
    click.echo(f"{host.name}: restored {len(items)}")
    return Exit.OK
