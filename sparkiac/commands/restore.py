"""`sparkiac restore`: put back what `sparkiac backup` has saved, into the repository and onto hosts."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from sparkiac.commands import prompts
from sparkiac.commands.apply import require_answer
from sparkiac.commands.backup import PASSPHRASE_FILE, REPOSITORY, read_passphrase, split
from sparkiac.commands.inputs import Exit, known, planned, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sparkiac.host.sent.saved import SavedItem
    from sparkiac.plan import HostPlan
    from sparkiac.write.backup import Backup

_SAME: Final = "the same, stays"
_OWN: Final = "of the host itself, stays"
_UNUSED: Final = "nothing in the inventory uses it, is left out"


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
    inventory, file, names = split(words)
    if not file.is_file():
        reject(f"there is no file {click.format_filename(file)}")
    plan = planned(inventory).plan
    chosen = {known("host", each, [host.name for host in plan.hosts]) for each in names}
    require_answer("text", asks=not yes, checks=False)
    secret = read_passphrase(passphrase, twice=False)
    from sparkiac.write import backup

    saved = _opened(file, secret, plan.name)
    places: dict[str, HostPlan | None] = {} if chosen else {REPOSITORY: None}
    places |= {f"hosts/{host.name}": host for host in plan.hosts if not chosen or host.name in chosen}
    found = {place: _due(host, saved.items[place]) for place, host in places.items() if place in saved.items}
    due = {place: items for place, items in found.items() if items}
    code = Exit.IO if None in found.values() else Exit.OK
    if not due:
        click.echo("nothing to restore")
        return code
    if not yes:
        prompts.agree(f"Restore {sum(map(len, due.values()))} of them?")
    return max(
        code, *(_restored(places[place], items, backup.parts(file, secret, place)) for place, items in due.items())
    )


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


def _due(host: HostPlan | None, saved: bytes) -> list[SavedItem] | None:
    """Compare a host, or the repository, with the backup; return what is to be put back, None if it cannot be read."""
    from sparkiac.fleet import saves

    where, due = host.name if host else REPOSITORY, []
    try:
        for item, state in _compared(host, saves.items(saved)):
            click.echo(f"{where}  {item.path}  {state}")
            due += [] if state in {_SAME, _OWN, _UNUSED} else [item]
    except saves.FAULTS as error:
        click.echo(f"{where}: {error}", err=True)
        return None
    return due


def _compared(host: HostPlan | None, items: Sequence[SavedItem]) -> Iterator[tuple[SavedItem, str]]:
    """Yield each saved item and what becomes of it. Raises `saves.FAULTS`."""
    from sparkiac.fleet import saves
    from sparkiac.host.local import LocalHost
    from sparkiac.host.sent.saved import described
    from sparkiac.host.switch.history import HISTORY

    here = LocalHost(Path())
    own = (described(here, each.path) for each in items if here.path(each.path).exists()) if host is None else ()
    present = {each.path: each for each in (own if host is None else saves.look(host))}
    for item in items:
        found = present.get(item.path)
        if ".." in Path(item.path).parts or (host and not saves.has_place(host, item.path)):
            yield item, _UNUSED
        elif found is None:
            yield item, "missing, is put back"
        elif found.sha256 == item.sha256:
            yield item, _SAME
        elif item.path == HISTORY:
            yield item, _OWN
        else:
            newer = f"newer than the backup ({_moment(found.changed)})" if found.changed > item.changed else "differs"
            yield item, f"{newer}, is replaced"


def _restored(host: HostPlan | None, items: list[SavedItem], parts: Iterator[bytes]) -> Exit:
    """Put items back, and print the result."""
    from sparkiac.fleet import saves
    from sparkiac.host.local import LocalHost
    from sparkiac.host.sent import saved

    where = host.name if host else REPOSITORY
    try:
        if host:
            saves.restore(host, items, parts)
        else:
            saved.restore(LocalHost(Path()), [], items, BytesIO(b"".join(parts)))
    except saves.FAULTS as error:
        click.echo(f"{where}: {error}", err=True)
        return Exit.IO
    click.echo(f"{where}: restored {len(items)}")
    return Exit.OK
