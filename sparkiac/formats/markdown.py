"""Pages of Markdown on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent
from typing import Final

from rich.console import RenderableType
from rich.markdown import Markdown

from sparkiac.formats.terminal import Verbatim

_BLOCK: Final = re.compile(r"^```\w*\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


def page(text: str) -> Iterator[RenderableType]:
    """Return a page for a terminal: prose is wrapped, and blocks can be copied."""
    for index, part in enumerate(_BLOCK.split(text)):
        if index % 2:
            yield Verbatim(f"\n{indent(part, ' ' * 4)}")
        else:
            yield Markdown(part)
