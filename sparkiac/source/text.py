"""Decode the bytes of a file; refuse text that is not YAML, or that YAML parsers read in different ways.

Unquoted scalars are those of YAML 1.2's core schema, without the forms that YAML 1.1 reads differently.

Sources: YAML 1.2.2, 5.1 and 5.2 (characters and encodings), and Unicode 23.7 for noncharacters, for which
systemd drops the whole line of a unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import yaml

from sparkiac.report import Mark
from sparkiac.report.characters import REFUSED

MAX_BYTES: Final = 4 * 1024 * 1024
START: Final = Mark(1, 1, 1, 2)

FORBIDDEN: Final = re.compile(rf"[{REFUSED}]|\r(?!\n)")
"""Characters that are not allowed, including a carriage return without a line feed."""

_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")

LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_INDENT: Final = "indent it like the keys beside it, and check the line above"
_HINTS: Final = {
    "could not find expected ':'": "write `key: value`, with a space after the colon",
    "expected ',' or": "close the open bracket, and quote a value that contains a bracket or a comma",
    "unexpected end of stream": "close the quotation mark",
    "expected alphabetic or numeric": "quote a value that starts with * or &",
    "expected <document start>": "write the inventory as lines of `key: value`",
    "expected '-'": _INDENT,
    "sequence entries are not allowed": "start the list on its own line, or write [a, b]",
    "unknown escape": "write each backslash twice inside double quotation marks",
    "expected node content": "quote a value that starts with a bracket",
}
"""Text in the parser's message → hint."""
_CONFLICT: Final = re.compile(r"^<{7} ", re.MULTILINE)
_CHOOSE: Final = "keep one side and remove the lines with <<<<<<<, ======= and >>>>>>>"
_ALONE: Final = re.compile(r"[ -]*[^\s:]*")
"""The text before the colon of a key that starts its line."""
_ODD_BLANK: Final = re.compile("(?:^ *|[:-] *)([\u00a0\u2000-\u200a\u202f\u3000])", re.MULTILINE)
TRUE: Final = frozenset({"true", "True", "TRUE"})
FALSE: Final = frozenset({"false", "False", "FALSE"})
NULL: Final = frozenset({"", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"(\.[0-9]+|[-+]?(0|[1-9][0-9]*)\.[0-9]*)([eE][-+][0-9]+)?")
_MAX_DIGITS: Final = 18

_NUMBER_TO_SOME: Final = "a number to some YAML parsers and a text to others"
_TRAPS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"(y|n|yes|no|on|off)", re.IGNORECASE), "a boolean to some YAML parsers and a text to others"),
    (re.compile(r"~"), "null to some YAML parsers and a text to others"),
    (re.compile(r"="), "a special value in YAML 1.1"),
    (re.compile(r"<<"), "YAML 1.1's merge key"),
    (re.compile(r"[-+]?0[0-9_]+|[-+]?0o[0-7_]+"), "octal to some YAML parsers and decimal to others"),
    (re.compile(r"[-+]?0[xXbB][0-9A-Fa-f_]+"), "a number in another base"),
    (re.compile(r"[-+]?_*([0-9][0-9_]*(\.[0-9_]*)?|\._*[0-9][0-9_]*)([eE][-+]?[0-9]+)?"), _NUMBER_TO_SOME),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"), "a base-60 number to YAML 1.1: 22:22 is 1342"),
    (re.compile(r"[-+]?\.(inf|nan)", re.IGNORECASE), "not a number in JSON"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"), "a date to YAML 1.1"),
)
_SUSPECT: Final = re.compile(r"[-+.~=<0-9yYnNoO]")


class TextFault(NamedTuple):
    """An error in the text of a file."""

    code: str
    mark: Mark
    message: str
    hint: str


def decode(raw: bytes) -> tuple[str, TextFault | None]:
    """Decode strict UTF-8. The text ends before the first invalid byte."""
    if len(raw) > MAX_BYTES:
        message = f"the file has {len(raw)} bytes; the limit is {MAX_BYTES}"
        return "", TextFault("YML002", START, message, "split the fleet into several inventories")
    if raw.startswith(_BYTE_ORDER_MARKS):
        message = "the file starts with a byte order mark"
        return "", TextFault("YML001", START, message, "save it as UTF-8 without a byte order mark")
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError as error:
        text = raw[: error.start].decode("utf-8")
        message = f"byte {raw[error.start]:#04x} is not UTF-8"
        return text, TextFault("YML001", _mark_at(text, len(text)), message, "save the file as UTF-8")


def characters(text: str) -> Iterator[TextFault]:
    """Return a fault for every character that is not allowed."""
    for found in FORBIDDEN.finditer(text):
        yield TextFault("YML003", _mark_at(text, found.start()), refusal(found.group()), "remove the character")


def refusal(character: str) -> str:
    """Return why a character is not allowed."""
    return f"character U+{ord(character):04X} is not allowed: it is invisible or changes how the text is read"


def at_end(text: str) -> tuple[int, int]:
    """Return line and column, both from 0, of the end of the last line with text."""
    shown = text.rstrip(" \r\n")
    return shown.count("\n"), len(shown) - (shown.rfind("\n") + 1)


def _mark_at(text: str, index: int) -> Mark:
    line = text.count("\n", 0, index) + 1
    column = index - text.rfind("\n", 0, index)
    return Mark(line, column, line, column + 1)


def syntax_fault(text: str, error: Exception) -> TextFault:
    """Return the position of a parser error. At the end of the file, it is the start of the unclosed element."""
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        return TextFault("YML004", Mark(line, 1, line, 8), "a merge conflict begins here", _CHOOSE)
    if quote := _unclosed_quote(text, error):
        return quote
    marks = (getattr(error, "problem_mark", None), getattr(error, "context_mark", None))
    end = at_end(text)
    place, begun = ((mark.line, mark.column) if mark else end for mark in marks)
    line, column = min(end, begun) if place >= end else place
    problem = re.sub(r"handle '.*", "handle", str(getattr(error, "problem", None) or "bad escape"), flags=re.DOTALL)
    context = f", {getattr(error, 'context', '')}" if begun < min(place, end) else ""
    if "flow" in context and begun[0] < line:
        context += f" that begins in line {begun[0] + 1}"
    before, this = ("", *text.split("\n"))[line : line + 2]
    hint = _hint(this, column, problem)
    if odd := _ODD_BLANK.search(f"{before}\n{this}"):
        at = _mark_at(odd.string, odd.start(1))
        line, column = line + at.line - 2, at.column - 1
        hint = f"replace U+{ord(odd[1]):04X}, which only looks like a space, by a space"
    message = f"not valid YAML: {problem}{context}"
    if "quoted scalar" in context and "end of stream" in problem:
        message = "not valid YAML: the quoted text that begins here is not closed"
    return TextFault("YML004", Mark(line + 1, column + 1, line + 1, column + 2), message, hint)


def _unclosed_quote(text: str, error: Exception) -> TextFault | None:
    """Return a fault at the quotation mark that opens a text of several lines, if the error is where the text ends.

    An unclosed quotation mark extends to the next one, often lines below, and only there the parser finds an error.
    """
    problem = getattr(error, "problem_mark", None)
    quoted: Any = None
    tokens: Any = yaml.scan(text, LOADER)
    with suppress(yaml.YAMLError):
        for token in tokens:
            if isinstance(token, yaml.ScalarToken) and token.style in {'"', "'"}:
                quoted = token
            if problem is None or token.start_mark.index >= problem.index:
                break
    if problem is None or quoted is None or not quoted.start_mark.line < quoted.end_mark.line == problem.line:
        return None
    line, column = quoted.start_mark.line + 1, quoted.start_mark.column + 1
    message = f"not valid YAML: the quoted text that begins here ends in line {problem.line + 1}"
    return TextFault("YML004", Mark(line, column, line, column + 1), message, "close the quotation mark on this line")


def _hint(line: str, column: int, problem: str) -> str:
    """Return a hint, from the parser's message and the text before the position."""
    head, character = line[:column], line[column : column + 1]
    if character == "\t":
        return "indent with spaces, not tabs"
    if "cannot start any token" in problem:
        return f"quote a value that starts with {character}"
    alone = _ALONE.fullmatch(head) is not None
    if "mapping values are not allowed" in problem:
        return _INDENT if alone else "quote a value that contains a colon and a space"
    if "expected key" in problem:
        return _INDENT if alone else "quote the whole value"
    return next((hint for words, hint in _HINTS.items() if words in problem), "")


class Ambiguous(ValueError):  # noqa: N818  expected result, not an error
    """An unquoted scalar that YAML 1.1 and 1.2 read differently; the message says how."""


def resolve(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar. Raises Ambiguous where YAML 1.1 and 1.2 differ."""
    if text in NULL:
        return None
    if text in TRUE or text in FALSE:
        return text in TRUE
    if not _SUSPECT.match(text):
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    for pattern, reason in _TRAPS:
        if pattern.fullmatch(text):
            raise Ambiguous(reason)
    return text


def _integer(text: str) -> int:
    digits = len(text.lstrip("+-"))
    if digits > _MAX_DIGITS:
        raise Ambiguous(f"a number of {digits} digits; YAML parsers agree on at most {_MAX_DIGITS}")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Ambiguous("a number that is too large")
    return value
