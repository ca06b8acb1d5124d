"""Pages: Markdown with blocks of code, or plain text with command lines and units among it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers import embedded, shell, shell_commands
from sparkiac.importers.launch import Note
from sparkiac.importers.shell_words import Value, script
from sparkiac.importers.unreadable import StartsNothing, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.importers.launch import Launch

NAME: Final = "markdown"
_FENCE: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([\w+.-]*)")
_FENCES: Final = re.compile(r"^[ \t>]{0,12}(?:```|~~~)", re.MULTILINE)
_PROMPT: Final = re.compile(r"^[^\S\n]*(?:\$|\u276f|[\w.-]+@[\w.-]+:[^$#]{0,60}[$#])[ \t]+", re.MULTILINE)
_COMMAND: Final = re.compile(
    r"[ \t>]*(?:\$ )?(?:sudo (?:-\w+ ){0,5})?(?:docker|podman|nerdctl)(?: container)? (?:run|create)\s"
)
_SPAN: Final = re.compile(
    r"[ \t]*(?:[-*+] |\d+\. )?`((?:\$ )?(?:sudo )?"
    r"(?:(?:docker|podman|nerdctl) (?:run|exec)|vllm serve) [^`]+)`[ \t]*$"
)
"""A command line between backquotes that has a line of its own: in a sentence it is only spoken of."""
_ASSIGNS: Final = re.compile(r"[ \t]*export [A-Za-z_]\w*=\S*[ \t]*(?:#.*)?$")
_UNIT: Final = re.compile(r"\[(Unit|Service)\][ \t]*$")
_OF_UNIT: Final = re.compile(r"[ \t]*(?:[#;].*|\[[A-Z][A-Za-z]+\]|[A-Z][A-Za-z0-9]*=.*)?$")
_SPOKEN: Final = frozenset(
    {"python", "py", "json", "js", "javascript", "typescript", "text", "diff", "c", "go", "rust"}
)
_OF_WINDOWS: Final = frozenset({"powershell", "ps1", "pwsh", "cmd", "bat", "batch"})
_CONTINUED: Final = re.compile(r"[`^](?=[ \t]*$)", re.MULTILINE)
_LONGEST: Final = 400
_MOST_REFUSED: Final = 8
"""Faults of one page after which blocks are no longer read in parts."""


class _Block(NamedTuple):
    text: str
    line: int
    """Line of the page at which it begins."""
    language: str
    indent: int | None = None
    """Columns that were taken from each line; None where they differ."""


def recognise(text: str, name: str) -> bool:
    """Whether a text is a page by its name, or by fences around its blocks."""
    return name.lower().endswith((".md", ".markdown", ".rst", ".html")) or len(_FENCES.findall(text)) > 1


def tells(text: str) -> bool:
    """Whether a text has command lines or units among other lines."""
    return any(True for _ in _blocks(text))


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read all blocks of a page. A block that cannot be read is a note; raises Unreadable where none tells anything."""
    found: list[Launch] = []
    refused: list[Unreadable] = []
    variables: dict[str, Value] = {}
    for block in _blocks(text):
        found += _readable(block, variables, name, refused)
    if not found:
        message = "no block of this page starts a server or a container"
        raise refused[0] if refused else StartsNothing(message)
    notes = (Note("lost", error.line, "a block", str(error)) for error in refused)
    found[-1] = found[-1]._replace(notes=(*found[-1].notes, *notes))
    return shell_commands.joined(found)


def _readable(block: _Block, variables: dict[str, Value], name: str, refused: list[Unreadable]) -> tuple[Launch, ...]:
    """Read a block; of one that cannot be read, the commands before and after the one that is at fault."""
    try:
        return _launches(block, variables, name)
    except Unreadable as error:
        error.line += block.line - 1 if error.line < block.line else 0
        refused.append(error)
        lines = block.text.split("\n")
        start = end = error.line - block.line
        if not 0 <= start < len(lines) or len(refused) > _MOST_REFUSED:
            return ()
    while start and lines[start - 1].rstrip().endswith("\\"):
        start -= 1
    end = next((at for at in range(end, len(lines)) if not lines[at].rstrip().endswith("\\")), len(lines)) + 1
    before = block._replace(text="\n".join(lines[:start]))
    after = block._replace(text="\n".join(lines[end:]), line=block.line + end)
    return (*_readable(before, variables, name, refused), *_readable(after, variables, name, refused))


def _launches(block: _Block, variables: dict[str, Value], name: str) -> tuple[Launch, ...]:
    """Read one block as what it looks like; variables that it sets hold in later ones."""
    found = embedded.of_another_format(block.text, line=block.line, name=name)
    if found is not None:
        return found
    if block.language in _SPOKEN or block.language in {"yaml", "yml", "ini", "toml"}:
        return ()
    text = _CONTINUED.sub(r"\\", block.text) if block.language in _OF_WINDOWS else block.text
    bare = _PROMPT.sub(lambda prompt: " " * len(prompt[0]), text)
    commands = script(bare, variables=variables, line=block.line, indent=block.indent)
    variables |= commands.variables
    return shell.launches(commands, name=name)


def _blocks(text: str) -> Iterator[_Block]:
    """Give the blocks between fences, and the command lines and units that stand outside of them."""
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        start, opening = at, _FENCE.match(lines[at])
        if opening is not None:
            at = _end_of_fence(lines, at + 1, opening[1])
            quoted = lines[start].lstrip().startswith(">")
            body = [re.sub(r"^[ \t]*> ?", "", line) if quoted else line for line in lines[start + 1 : at - 1]]
            block = _block(body, start + 2, opening[2].lower())
            yield block._replace(indent=None) if quoted else block
        elif _UNIT.match(lines[at].strip()):
            at = _end_of_unit(lines, at)
            yield _block(lines[start:at], start + 1)
        elif _COMMAND.match(lines[at]):
            at = _end_of_command(lines, at)
            yield _block(lines[start:at], start + 1)
        else:
            at += 1
            if span := _SPAN.match(lines[start]):
                yield _Block(span[1], start + 1, "", span.start(1))
            elif _ASSIGNS.match(lines[start]):
                yield _block(lines[start:at], start + 1)


def _end_of_fence(lines: list[str], at: int, fence: str) -> int:
    """Go behind the line that closes a block; one that is not closed ends with the page."""
    while at < len(lines) and not lines[at].lstrip(" \t>").startswith(fence):
        at += 1
    return at + 1


def _end_of_unit(lines: list[str], at: int) -> int:
    at += 1
    while at < len(lines) and _OF_UNIT.match(lines[at]):
        at = _end_of_command(lines, at)
    return at


def _end_of_command(lines: list[str], at: int) -> int:
    """Go behind a line and all that it continues with, an open quote included."""
    start, opened = at, False
    while at < len(lines) and at - start < _LONGEST:
        bare = re.sub(r"\\.", "", re.sub(r"'[^']*'" if not opened else "", "", lines[at]))
        opened ^= bare.count('"') % 2 == 1
        at += 1
        if not opened and not lines[at - 1].rstrip().endswith("\\"):
            break
    return at


def _block(lines: list[str], line: int, language: str = "") -> _Block:
    """Make a block of lines, without the indent that all of them have."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return _Block("\n".join(line[indent:] for line in lines), line, language, indent)
