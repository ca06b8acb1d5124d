"""Drafts as YAML that a person edits: with comments, and without quotes that are not needed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sparkiac.characters import shown
from sparkiac.render import yamltext
from sparkiac.source.scalars import Ambiguous, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sparkiac.report import Path

_QUOTED: Final = re.compile(r'(: |- )"([A-Za-z/][A-Za-z0-9._/-]*(?::[A-Za-z0-9][A-Za-z0-9._-]*)?)"$')
_KEY: Final = re.compile(r'^( *)"(on|(?:/[A-Za-z0-9._][A-Za-z0-9._-]*)+)":')
_MULTILINE: Final = frozenset(
    {"set", "env", "container", "mounts", "files", "timeouts", "defaults", "hosts", "deployments", "services"}
)
"""Mappings that are always written over several lines."""
_MAX_FLAT: Final = 72
"""Longest list or small mapping that is written on one line."""

_WIDTH: Final = 118

Comments = Mapping["Path", "Sequence[str]"]


def dump(data: Mapping[str, Any], comments: Comments) -> str:
    """Write a document, with the comments of each path above its key."""
    return "".join(f"{line}\n" for line in _lines(data, (), comments))


def _lines(data: Mapping[str, Any], path: Path, comments: Comments) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in data.items():
        here = (*path, key)
        for comment in comments.get(here, ()):
            yield from _comment(comment, indent)
        if isinstance(value, Mapping) and value and not _is_small(value, here, comments):
            yield f"{indent}{_unquoted(yamltext.dump({key: 0}).rstrip()).removesuffix(' 0')}"
            yield from _lines(value, here, comments)
        else:
            yield from (indent + line for line in _leaf(key, value))


def _comment(text: str, indent: str) -> list[str]:
    """Wrap a comment; continuation lines are indented."""
    return textwrap.wrap(
        " ".join(shown(text).split()),
        _WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _is_small(value: Mapping[str, Any], path: Path, comments: Comments) -> bool:
    """Return whether a mapping is written on one line: a host, an option, a method, limits."""
    flat = _flat(value)
    commented = any(each[: len(path)] == path and each != path for each in comments)
    if len(path) < 2 or path[-1] in _MULTILINE or "on" in value:  # noqa: PLR2004  the top levels
        return False
    return not commented and flat is not None and len(flat) <= _MAX_FLAT


def _leaf(key: str, value: Any) -> Iterator[str]:  # noqa: ANN401  any plain data
    """Write one value; short lists and mappings go on one line."""
    flat = _flat(value)
    if flat is not None and len(flat) <= _MAX_FLAT:
        yield f"{_unquoted(yamltext.dump({key: 0}).rstrip()).removesuffix(' 0')} {flat}"
    else:
        yield from map(_unquoted, yamltext.dump({key: value}).splitlines())


def _flat(value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, Mapping) and value:
        parts = [_pair(key, each) for key, each in value.items()]
        return None if None in parts else f"{{{', '.join(map(str, parts))}}}"
    if isinstance(value, tuple | list) and value:
        items = [_word(each) for each in value]
        return None if None in items else f"[{', '.join(map(str, items))}]"
    return None


def _pair(key: str, value: Any) -> str | None:  # noqa: ANN401
    word = _word(value)
    return None if word is None else f"{yamltext.dump({key: 0}).rstrip().removesuffix(' 0')} {word}"


def _word(value: Any) -> str | None:  # noqa: ANN401
    """Write a scalar for use within brackets, or None for a collection."""
    if isinstance(value, Mapping | tuple | list):
        return None
    return _unquoted(f"- {yamltext.dump(value).rstrip()}").removeprefix("- ")


def _unquoted(line: str) -> str:
    """Remove the quotes from a word that every YAML parser reads as the same text."""
    found = _QUOTED.search(line)
    if found is not None and _is_plain(found[2]):
        line = line[: found.start()] + found[1] + found[2]
    return _KEY.sub(r"\1\2:", line)


def _is_plain(word: str) -> bool:
    try:
        return resolve(word) == word
    except Ambiguous:
        return False
