"""`sparkiac backup`: save what is not in Git, of the repository and of the hosts, in one encrypted file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from sparkiac.commands.inputs import Exit, links_path, planned, reject
from sparkiac.commands.inventories import SUFFIXES, only_inventory

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.host.sent.saved import SavedItem

PASSPHRASE_FILE: Final = click.option(
    "--passphrase-file",
    "passphrase",
    type=click.File("rb"),
    help="File whose first line is the passphrase, also /dev/fd/N; default: it is prompted for.",
)
REPOSITORY: Final = "repository"
_SECRETS: Final = Path("secrets")
_BESIDE: Final = ("interfaces", "measurements")


@click.command()
@click.argument("words", nargs=-1, metavar="[INVENTORY] FILE")
@PASSPHRASE_FILE
def backup(words: tuple[str, ...], passphrase: IO[bytes] | None) -> int:
    """Save what is not in Git to FILE, encrypted with a passphrase: secrets, data of services, records.

    From the current directory it saves secrets/, and from beside INVENTORY the records of measurements, links and
    interfaces; from each host its secrets, the history of its switches, and the data of its services, such as those of
    Open WebUI. Not saved are weights, images, and everything that an apply writes. A service is stopped while its data
    are read, which makes them consistent, and then started again; model servers run on. All hosts must be reachable.

    FILE must not exist, and must not be in a Git work tree. Its mode is 0600, and `age --decrypt` reads it as well.

    Exit codes: 0 done, 2 bad input, 6 a host or file cannot be read or written; then there is no FILE.
    """
    inventory, file, rest = split(words)
    if rest:
        reject(f"unexpected argument {rest[0]!r}")
    _require_place(file)
    plan = planned(inventory).plan
    secret = read_passphrase(passphrase, twice=True)
    from sparkiac import __version__
    from sparkiac.fleet import saves
    from sparkiac.words.lock import size
    from sparkiac.write import backup as of_backup

    about = {"name": plan.name, "time": int(time.time()), "sparkiac": __version__}
    try:
        with of_backup.writing(file, secret, about) as opened:
            for place, host in {REPOSITORY: None, **{f"hosts/{host.name}": host for host in plan.hosts}}.items():
                opened.begin(place)
                items = saves.save(host, opened.write) if host else _own(inventory, opened.write)
                opened.end(json.dumps([each._asdict() for each in items]).encode())
                for each in items:
                    click.echo(f"{host.name if host else place}  {each.path}  {size(each.size_bytes)}")
    except saves.FAULTS as error:
        click.echo(f"{host.name if host else place}: {error}; {file} is not written", err=True)
        return Exit.IO
    click.echo(f"{file}: written, {size(file.stat().st_size)}, mode 0600; it cannot be read without the passphrase")
    return Exit.OK


def _own(inventory: Path, write: Callable[[bytes], object]) -> list[SavedItem]:
    """Write the archive of the repository, which is the current directory, and return its items."""
    from sparkiac.host.local import LocalHost
    from sparkiac.host.sent import saved

    beside = (path for folder in _BESIDE for path in inventory.with_name(folder).rglob("*.json"))
    files = sorted(path for path in (*_SECRETS.rglob("*"), *beside, links_path(inventory)) if path.is_file())
    if outside := [path for path in files if not path.resolve().is_relative_to(Path.cwd())]:
        reject(f"{outside[0]} is not in the current directory; run this in the repository of the inventory")
    paths = [f"/{path.resolve().relative_to(Path.cwd()).as_posix()}" for path in files]
    return saved.save(LocalHost(Path()), paths, {}, write)


def _require_place(file: Path) -> None:
    """Refuse a file that exists, or that a commit could contain."""
    if file.exists() or file.is_symlink():
        reject(f"{file} exists; name a new file, such as {file.stem}-{time.strftime('%Y-%m-%d')}.age")
    if not file.parent.is_dir():
        reject(f"the directory {file.parent} does not exist")
    tree = next((each for each in file.resolve().parents if (each / ".git").exists()), None)
    if tree is not None:
        reject(f"{file} would be in the Git work tree {tree}, where it could be committed; name a place outside")


def split(words: tuple[str, ...]) -> tuple[Path, Path, tuple[str, ...]]:
    """Return inventory, file and further words; an inventory has its suffix, and may be omitted if there is one."""
    if words and not words[0].endswith(SUFFIXES):
        words = (str(only_inventory()), *words)
    if len(words) <= 1:
        reject(f"name the file of the backup, such as ../lab-{time.strftime('%Y-%m-%d')}.age")
    return Path(words[0]), Path(words[1]), words[2:]


def read_passphrase(given: IO[bytes] | None, *, twice: bool) -> bytes:
    """Return the passphrase: the first line of a file, or the answer to a prompt."""
    if given is not None:
        found: bytes = given.readline().rstrip(b"\r\n")
        return found or reject("the first line of --passphrase-file is empty")
    if not os.isatty(0):
        reject("--passphrase-file is missing, and without a terminal the passphrase cannot be prompted for")
    text: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice, err=True)
    return text.encode()
