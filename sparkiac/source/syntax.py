"""Where a parser of YAML gave up, and what the user can do about it."""

from __future__ import annotations

import re
from typing import Final

from sparkiac.report import Mark
from sparkiac.source.text import Fault, at_end

_INDENT: Final = "indent it as far as the keys beside it, and look at the line above"
_HINTS: Final = {
    "could not find expected ':'": "write `key: value`, with a blank after the colon",
    "expected ',' or": "close the bracket that is open, and quote a value that holds a bracket or a comma",
    "unexpected end of stream": "close the quotation mark",
    "expected alphabetic or numeric": "quote a value that starts with * or &",
    "expected <document start>": "an inventory is lines of `key: value`",
    "expected '-'": _INDENT,
    "sequence entries are not allowed": "begin a list on a line of its own, or write [a, b]",
    "unknown escape": "in double quotation marks a backslash is written twice",
    "expected node content": "quote a value that starts with a bracket",
}
"""Words of the parser → what to do."""
_CONFLICT: Final = re.compile(r"^<{7} ", re.MULTILINE)
_CHOOSE: Final = "keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>"
_ALONE: Final = re.compile(r"[ -]*[^\s:]*")
"""What stands before a key's colon, if the key is the first thing on its line."""
_ODD_BLANK: Final = re.compile("(?:^ *|[:-] *)([\u00a0\u2000-\u200a\u202f\u3000])", re.MULTILINE)


def fault(text: str, error: Exception) -> Fault:
    """Say where a parser gave up. At the end of the file that is where it began what it found no end of."""
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        return Fault("YML004", Mark(line, 1, line, 8), "a merge conflict begins here", _CHOOSE)
    marks = (getattr(error, "problem_mark", None), getattr(error, "context_mark", None))
    end = at_end(text)
    place, begun = ((mark.line, mark.column) if mark else end for mark in marks)
    line, column = min(end, begun) if place >= end else place
    problem = re.sub(r"handle '.*", "handle", str(getattr(error, "problem", None) or "bad escape"), flags=re.DOTALL)
    context = f", {getattr(error, 'context', '')}" if begun < min(place, end) else ""
    if "flow" in context and begun[0] < line:
        context += f" that begins in line {begun[0] + 1}"
    before, this = ("", *text.split("\n"))[line : line + 2]
    hint = _hint(before, this, column, problem)
    message = f"not valid YAML: {problem}{context}"
    return Fault("YML004", Mark(line + 1, column + 1, line + 1, column + 2), message, hint)


def _hint(before: str, line: str, column: int, problem: str) -> str:
    """Say what to do, by the parser's words and what stands before the place on its line, and on the line above."""
    head, character = line[:column], line[column : column + 1]
    if character == "\t":
        return "indent with blanks, not tabs"
    if odd := _ODD_BLANK.search(f"{before}\n{line}"):
        return f"write a blank in the place of U+{ord(odd[1]):04X}, which only looks like one"
    if "cannot start any token" in problem:
        return f"quote a value that starts with {character}"
    alone = _ALONE.fullmatch(head) is not None
    if "mapping values are not allowed" in problem:
        return _INDENT if alone else "quote a value that holds a colon and a blank"
    if "expected key" in problem:
        return _INDENT if alone else "quote the whole of the value"
    return next((hint for words, hint in _HINTS.items() if words in problem), "")
