"""Web pages and README files: Markdown with code blocks, or plain text with command lines and units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from sparkiac.foreign import shell, values
from sparkiac.foreign.launch import Launch, NothingToImport, Unreadable, lost
from sparkiac.foreign.shell_parts import Value
from sparkiac.foreign.shell_words import script

_FENCE: Final = re.compile(r"^[ \t>]{0,12}(?:```|~~~)", re.MULTILINE)
_PROMPT: Final = re.compile(r"^[^\S\n]*(?:\$|\u276f|[\w.-]+@[\w.-]+:[^$#]{0,60}[$#])[ \t]+", re.MULTILINE)
_COMMAND: Final = re.compile(
    r"[ \t>]*(?:\$ )?(?:sudo (?:-\w+ ){0,5})?(?:docker|podman|nerdctl)(?: container)? (?:run|create)\s"
)
_SPAN: Final = re.compile(
    r"[ \t]*(?:[-*+] |\d+\. )?`((?:\$ )?(?:sudo )?"
    r"(?:(?:docker|podman|nerdctl) (?:run|exec)|vllm serve) [^`]+)`[ \t]*$"
)
"""A command line in backquotes on a line of its own; inside a sentence it is only mentioned."""
_ASSIGNS: Final = re.compile(r"[ \t]*export [A-Za-z_]\w*=\S*[ \t]*(?:#.*)?$")
_UNIT: Final = re.compile(r"\[(Unit|Service)\][ \t]*$")
_UNIT_LINE: Final = re.compile(r"[ \t]*(?:[#;].*|\[[A-Z][A-Za-z]+\]|[A-Z][A-Za-z0-9]*=.*)?$")
_OTHER_LANGUAGES: Final = values.words("python py json js javascript typescript text diff c go rust")
_WINDOWS_SHELLS: Final = frozenset({"powershell", "ps1", "pwsh", "cmd", "bat", "batch"})
_CONTINUED: Final = re.compile(r"[`^](?=[ \t]*$)", re.MULTILINE)
_MAX_LINES: Final = 400
_MAX_RETRIES: Final = 8
"""Unreadable blocks on one page after which further ones are no longer split and retried."""


class _PageBlock(NamedTuple):
    text: str
    line: int
    """First line on the page."""
    language: str
    indent: int | None = None
    """Columns removed from each line; None if the lines differ."""


def recognise(text: str, name: str) -> bool:
    """Return whether a text is a page, by its name or by fenced blocks."""
    return name.lower().endswith((".md", ".markdown", ".rst", ".html")) or len(_FENCE.findall(text)) > 1


def has_commands(text: str) -> bool:
    """Return whether a text has command lines or units among other lines."""
    return any(True for _ in _blocks(text))


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read all blocks of a page. Unreadable blocks become notes. Raises Unreadable if no block starts anything."""
    found: list[Launch] = []
    errors: list[Unreadable] = []
    variables: dict[str, Value] = {**given}
    for block in _blocks(text):
        found += _readable(block, variables, name, errors)
    if not found:
        message = "no block of this page starts a server or a container"
        raise errors[0] if errors else NothingToImport(message)
    notes = (lost(error.line, "a block", str(error)) for error in errors)
    found[-1] = found[-1]._replace(notes=(*found[-1].notes, *notes))
    return shell.joined(found, text)


def _readable(
    block: _PageBlock, variables: dict[str, Value], name: str, errors: list[Unreadable]
) -> tuple[Launch, ...]:
    """Read a block. If one command is unreadable, read the commands before and after it."""
    try:
        return _launches(block, variables, name)
    except Unreadable as error:
        error.line += block.line - 1 if error.line < block.line else 0
        if not shell.RUNS.search(block.text):
            return ()
        errors.append(error)
        lines = block.text.split("\n")
        start = end = error.line - block.line
        if not 0 <= start < len(lines) or len(errors) > _MAX_RETRIES:
            return ()
    while start and lines[start - 1].rstrip().endswith("\\"):
        start -= 1
    end = next((at for at in range(end, len(lines)) if not lines[at].rstrip().endswith("\\")), len(lines)) + 1
    before = block._replace(text="\n".join(lines[:start]))
    after = block._replace(text="\n".join(lines[end:]), line=block.line + end)
    return (*_readable(before, variables, name, errors), *_readable(after, variables, name, errors))


def _launches(block: _PageBlock, variables: dict[str, Value], name: str) -> tuple[Launch, ...]:
    """Read one block in the format that it looks like. Variables that it sets apply to later blocks."""
    texts = {key: value for key, value in variables.items() if isinstance(value, str)}
    found = shell.read_other_format(block.text, line=block.line, name=name, given=texts)
    if found is not None:
        return found
    if block.language in _OTHER_LANGUAGES or block.language in {"yaml", "yml", "ini", "toml"}:
        return ()
    text = _CONTINUED.sub(r"\\", block.text) if block.language in _WINDOWS_SHELLS else block.text
    bare = _PROMPT.sub(lambda prompt: " " * len(prompt[0]), text)
    commands = script(bare, variables=variables, line=block.line, indent=block.indent)
    variables |= commands.variables
    return shell.launches(commands, name=name)


def _blocks(text: str) -> Iterator[_PageBlock]:
    """Yield fenced blocks, and the command lines and units outside of them."""
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    for block, end in _fences(lines):
        yield from _outside(lines[at : block.line - 2], at + 1)
        yield block
        at = end
    yield from _outside(lines[at:], at + 1)


def _fences(lines: list[str]) -> Iterator[tuple[_PageBlock, int]]:
    """Yield the fenced blocks of a page, each with the index of the line after it."""
    text = "\n".join(lines)
    if not _FENCE.search(text):
        return
    from markdown_it import MarkdownIt  # noqa: PLC0415  only pages need it

    # Authors put fences into HTML and indent them as they like; what stands within a paragraph is not parsed.
    page = MarkdownIt("commonmark").disable(["code", "html_block", "reference"])
    page.core.ruler.enableOnly(["block"])
    for token in page.parse(text):
        if token.type == "fence" and token.map:
            start, end = token.map
            body = token.content.split("\n")
            pairs = zip(lines[start + 1 : end], body, strict=False)
            margins = {len(line) - len(shown) for line, shown in pairs if shown}
            language = token.info.strip().partition(" ")[0].lower()
            yield _block(body, start + 2, language, margins.pop() if len(margins) == 1 else None), end


def _outside(lines: list[str], first: int) -> Iterator[_PageBlock]:
    """Yield the command lines and units of a text that begins on this line."""
    at = 0
    while at < len(lines):
        start, line = at, first + at
        if _UNIT.match(lines[at].strip()):
            at = _end_of_unit(lines, at)
            yield _block(lines[start:at], line)
        elif _COMMAND.match(lines[at]):
            at = _end_of_command(lines, at)
            yield _block(lines[start:at], line)
        else:
            at += 1
            if span := _SPAN.match(lines[start]):
                yield _PageBlock(span[1], line, "", span.start(1))
            elif _ASSIGNS.match(lines[start]):
                yield _block(lines[start:at], line)


def _end_of_unit(lines: list[str], at: int) -> int:
    at += 1
    while at < len(lines) and _UNIT_LINE.match(lines[at]):
        at = _end_of_command(lines, at)
    return at


def _end_of_command(lines: list[str], at: int) -> int:
    """Return the index after a command and its continuation lines, including an open quote."""
    start, opened = at, False
    while at < len(lines) and at - start < _MAX_LINES:
        bare = re.sub(r"\\.", "", re.sub(r"'[^']*'" if not opened else "", "", lines[at]))
        opened ^= bare.count('"') % 2 == 1
        at += 1
        if not opened and not lines[at - 1].rstrip().endswith("\\"):
            break
    return at


def _block(lines: list[str], line: int, language: str = "", margin: int | None = 0) -> _PageBlock:
    """Make a block of lines, without their common indent; `margin` columns were removed before."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    text = "\n".join(line[indent:] for line in lines)
    return _PageBlock(text, line, language, None if margin is None else margin + indent)
