"""`sparkiac lock`: what a build made, into the lock."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import INVENTORY, exit_code, lock_path, read, show


@click.command()
@INVENTORY
@click.option(
    "--record",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File that builds/NAME/build wrote.",
)
def lock(inventory: Path, record: Path) -> int:
    """Pin the image that a build made, in the lock beside INVENTORY.

    This is for images that are built from source. Digests of registry images are written into the lock by hand:
    asking registries for them is not part of this command.

    Exits 0 when the lock holds the image, 2 when the inventory or the record is bad or the record is of another
    build, 6 when a file cannot be read or written; then the lock is as it was.
    """
    from sparkiac import pipeline, write
    from sparkiac.lock import Refused

    files = read(inventory)
    outcome = pipeline.check(*files, allow_unlocked=True)
    if outcome.plan is None:
        show(outcome, "text")
        return exit_code(outcome)
    target = lock_path(inventory)
    try:
        text = pipeline.record(outcome.plan, files[1], record.read_bytes())
    except Refused as error:
        click.echo(f"{click.format_filename(record)}: {error}", err=True)
        return Exit.BAD_INPUT
    if files[1] is not None and files[1].raw == text:
        click.echo(f"{target}: up to date")
        return Exit.OK
    write.replace(target, text)
    click.echo(f"{target}: written")
    return Exit.OK
