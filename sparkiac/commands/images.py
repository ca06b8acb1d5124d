"""`sparkiac images`: what is known of the images that recipes run."""

from __future__ import annotations

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import AS_JSON, Group, known, print_json


@click.group(cls=Group)
def images() -> None:
    """Look through images: releases inside, drivers, how they start, what they lack."""


@images.command("list")
@AS_JSON
def list_(output_format: str) -> int:
    """List all images, tag by tag."""
    from sparkiac.formats import images as tables
    from sparkiac.formats import plain_images, terminal

    data = plain_images.families()
    if output_format == "json":
        print_json({"images": data})
    else:
        terminal.show(tables.listed(data, width=terminal.width()))
    return Exit.OK


@images.command()
@click.argument("name")
@AS_JSON
def show(name: str, output_format: str) -> int:
    """Show all that is known of an image.

    NAME is a family of the list, its repository, or a reference with a tag.
    """
    from sparkiac.formats import images as tables
    from sparkiac.formats import plain_images, terminal

    data = plain_images.named(known("image", name, plain_images.names()))
    if output_format == "json":
        print_json({"image": data})
    else:
        terminal.show(tables.page(data))
    return Exit.OK
