"""`sparkiac images`: facts about the images that recipes run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from sparkiac.commands import inputs
from sparkiac.commands.inputs import AS_JSON, CommandGroup, Exit, answer, known, reject

_HOST: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.:_-]*")
_UNPINNED: Final = "UNLOCKED"
_PATH: Final = click.Path(path_type=Path)


@click.group(cls=CommandGroup)
def images() -> None:
    """List images: the vLLM releases inside, drivers, entrypoints and known limits."""


@images.command("list")
@AS_JSON
def list_(output_format: str) -> int:
    """List all images with their tags."""
    from sparkiac.words import images as words

    found = words.families()
    answer(output_format, {"images": found}, lambda width: words.listed(found, width))
    return Exit.OK


@images.command()
@click.argument("name")
@AS_JSON
def show(name: str, output_format: str) -> int:
    """Show all facts about an image.

    NAME is a name from `sparkiac images list`, a repository, or a reference with a tag.
    """
    from sparkiac.words import images as words

    found = words.named(known("image", name, words.names()))
    answer(output_format, {"image": found}, lambda _: words.page(found))
    return Exit.OK


@images.command()
@click.argument("image")
@click.option("--inventory", type=_PATH, help="Inventory that uses the image; its lock provides the digest.")
@click.option("--host", metavar="USER@ADDRESS", help="Machine that has the image, over ssh; default: this machine.")
@click.option("--output", type=_PATH, help="Output file; default: a file beside the inventory.")
def capture(image: str, *, inventory: Path | None, host: str | None, output: Path | None) -> int:
    """Read from IMAGE which options its vLLM accepts, so that options are checked against that list.

    A container of IMAGE runs for some seconds, without network and GPU. The result is written to the folder
    `interfaces` beside the inventory, in a file named after the image; commit it. It applies only to the image with
    that digest or ID.

    Exit codes: 0 written, 1 or 2 errors in the inventory, 4 the lock does not pin the image, 6 the image cannot be
    read or the file cannot be written.
    """
    from sparkiac.upstream.capture import CaptureError
    from sparkiac.upstream.capture import capture as read_interface

    if output is None and inventory is None:
        reject("--inventory or --output is missing")
    if host is not None and not _HOST.fullmatch(host):
        reject(f"--host takes USER@ADDRESS, not {host!r}")
    reference = _form(image) if inventory is None else _pinned(image, inventory)
    target = output or inputs.interfaces_path(inventory or Path()) / _file_name(image)
    try:
        raw = read_interface(reference, reference=image, host=host)
    except CaptureError as error:
        click.echo(f"{error}; {error.hint}", err=True)
        return Exit.IO
    return _written(target, raw)


def _form(image: str) -> str:
    """Return an image reference; refuse any other text."""
    from sparkiac.model.forms import FORMS, IMAGE

    if not re.match(IMAGE, image) or "\n" in image:
        reject(f"{image!r} is not {FORMS[IMAGE]}")
    return image


def _pinned(image: str, inventory: Path) -> str:
    """Return the image that the inventory uses under this name."""
    images = (each.image for host in inputs.planned(inventory).plan.hosts for each in host.containers)
    found = {each.reference: each.pull for each in images}
    pull = found[known("image of this inventory", image, found)]
    if _UNPINNED in pull:
        click.echo(f"the lock of {click.format_filename(inventory)} does not pin {image}: run sparkiac lock", err=True)
        raise click.exceptions.Exit(Exit.LOCK)
    return pull


def _file_name(image: str) -> str:
    """Name the file after the image, so that a newer capture of the same name replaces it."""
    return re.sub(r"[:@]", "-", image.partition("@")[0].rpartition("/")[2]) + ".json"


def _written(target: Path, raw: bytes) -> int:
    from sparkiac import write
    from sparkiac.catalog import interfaces
    from sparkiac.commands import editing

    with editing.writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        write.replace(target, raw)
    found = interfaces.captured(raw).interface
    click.echo(f"{target}: written: vLLM {found.version} with {len(found.options)} options")
    return Exit.OK
