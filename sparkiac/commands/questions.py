"""Values from an option, or from prompts on a terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

Read = TypeVar("Read")


def answer(
    given: str | None, question: str, read: Callable[[str], Read], flag: str = "", *, default: str | None = None
) -> Read:
    """Return the value of an option. Without it, prompt on a terminal until it is valid; elsewhere use the default.

    `read` raises click.UsageError for an invalid value. Without a default and a terminal, the error names `flag`.
    """
    if given is None and sys.stdin.isatty():
        take = lambda text: read(text.strip())  # noqa: E731  click hands over what was typed
        found: Read = click.prompt(question, default=default, value_proc=take, err=True, show_default=bool(default))
        return found
    said = default if given is None else given
    if said is None:
        message = f"{flag} is missing, and there is no terminal to ask on"
        raise click.UsageError(message)
    return read(said)


def reader(flag: str, form: str) -> Callable[[str], str]:
    """Return a function that accepts a text of one form of the inventory and refuses any other."""
    from sparkiac.model import forms

    def read(text: str) -> str:
        if not re.fullmatch(getattr(forms, form), text):
            message = f"{flag} {text!r} is not {forms.FORMS[getattr(forms, form)]}"
            raise click.UsageError(message)
        return text

    return read


def host(text: str) -> tuple[str, str]:
    """Read NAME=ADDRESS of the option --host."""
    name, _, at = text.partition("=")
    if not name or not at:
        message = f"--host {text!r} is not NAME=ADDRESS, such as spark-01=192.168.1.11"
        raise click.UsageError(message)
    return reader("--host", "NAME")(name), address("--host", at)


def address(flag: str, text: str) -> str:
    """Return an address that is valid in an inventory."""
    from pydantic import TypeAdapter, ValidationError

    from sparkiac.model import base, forms

    try:
        return TypeAdapter(base.Address).validate_python(text)
    except ValidationError:
        message = f"{flag} {text!r} is not {forms.FORMS[forms.ADDRESS]}"
        raise click.UsageError(message) from None
