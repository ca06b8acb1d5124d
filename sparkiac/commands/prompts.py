"""Values of options, and questions on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from sparkiac.commands.inputs import Exit, reject

Value = TypeVar("Value")
UNCHANGED: Final = "Nothing was changed."
FILL: Final = click.option(
    "--fill",
    "fills",
    metavar="KEY=VALUE",
    multiple=True,
    help="Value that a recipe leaves open, such as commit=<40 hex digits>; empty: a placeholder. May be repeated.",
)


class WrittenText(click.ParamType[str]):
    """A text of a certain form."""

    def __init__(self, name: str, pattern: str, like: str) -> None:
        """Accept what matches the pattern; `like` is an example."""
        self.name, self._pattern, self._like = name, re.compile(pattern), like

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """Return the text. Ends the command if it has another form."""
        if not self._pattern.fullmatch(value):
            self.fail(f"{value!r} is not of the form {self._like}", param, ctx)
        return str(value)


def value(
    given: str | None, label: str, parse: Callable[[str], Value], option: str = "", *, default: str | None = None
) -> Value:
    """Parse the value of an option; without it, prompt on a terminal until a value is valid, or use the default.

    `parse` raises click.UsageError for an invalid value. Without a terminal and a default, `option` is required.
    """
    if given is None and sys.stdin.isatty():
        stripped = lambda text: parse(text.strip())  # noqa: E731  click passes the input unchanged
        found: Value = click.prompt(label, default=default, value_proc=stripped, err=True, show_default=bool(default))
        return found
    text = default if given is None else given
    if text is None:
        reject(f"{option} is missing, and without a terminal it cannot be prompted for")
    return parse(text)


def agree(question: str) -> None:
    """Ask for a yes; without it, say that nothing was changed and end the command."""
    if not click.confirm(question, err=True):
        click.echo(UNCHANGED)
        raise click.exceptions.Exit(Exit.INTERRUPTED)


def parser(option: str, form: str) -> Callable[[str], str]:
    """Return a function that returns a valid text and rejects any other; `form` names a pattern of `model.forms`."""
    from sparkiac.model import forms

    def parse(text: str) -> str:
        if not re.fullmatch(getattr(forms, form), text):
            reject(f"{option} {text!r} is not {forms.FORMS[getattr(forms, form)]}")
        return text

    return parse


def host(text: str) -> tuple[str, str]:
    """Parse NAME=ADDRESS, the value of --host."""
    name, _, at = text.partition("=")
    if not name or not at:
        reject(f"--host {text!r} is not NAME=ADDRESS, such as spark-01=192.168.1.11")
    return parser("--host", "NAME")(name), address("--host", at)


def address(option: str, text: str) -> str:
    """Return a valid address of a host; reject any other text."""
    from pydantic import TypeAdapter, ValidationError

    from sparkiac.model import base, forms

    try:
        return TypeAdapter(base.Address).validate_python(text)
    except ValidationError:
        reject(f"{option} {text!r} is not {forms.FORMS[forms.ADDRESS]}")
