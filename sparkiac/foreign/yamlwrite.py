"""Layout of drafts, which people edit: comments above their keys, and short lists and mappings in one line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac.render import yamltext
from sparkiac.report import Path
from sparkiac.report.characters import escaped

_OPEN: Final = frozenset(
    {"set", "env", "container", "mounts", "files", "timeouts", "defaults", "hosts", "deployments", "services"}
)
"""Mappings that are always written in blocks."""
_FLAT: Final = 72
"""Maximum length of a list or mapping in one line."""

_WIDTH: Final = 118

Comments = Mapping["Path", "Sequence[str]"]


def dump(data: Mapping[str, Any], comments: Comments) -> str:
    """Return a document; the comments of a path are above its key."""
    return "".join(f"{line}\n" for line in _lines(data, (), comments))


def _lines(data: Mapping[str, Any], path: Path, comments: Comments) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in data.items():
        here = (*path, key)
        for comment in comments.get(here, ()):
            yield from _comment(comment, indent)
        if isinstance(value, Mapping) and value and not _is_small(value, here, comments):
            yield f"{indent}{yamltext.key(key, bare=True)}:"
            yield from _lines(value, here, comments)
        else:
            yield from (indent + line for line in _leaf(key, value))


def _comment(text: str, indent: str) -> list[str]:
    """Return the lines of a comment; continued lines are indented."""
    return textwrap.wrap(
        " ".join(escaped(text).split()),
        _WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _is_small(value: Mapping[str, Any], path: Path, comments: Comments) -> bool:
    """Return whether a mapping is written in one line: a host, an option, a method, limits."""
    flat = _flat(value)
    commented = any(each[: len(path)] == path and each != path for each in comments)
    if len(path) < 2 or path[-1] in _OPEN or "hosts" in value:  # noqa: PLR2004  the top levels
        return False
    return not commented and flat is not None and len(flat) <= _FLAT


def _leaf(key: str, value: Any) -> Iterator[str]:  # noqa: ANN401  any plain data
    """Write one value; short lists and mappings go on one line."""
    flat = _flat(value)
    if flat is not None and len(flat) <= _FLAT:
        yield f"{yamltext.key(key, bare=True)}: {flat}"
    else:
        yield from yamltext.dump({key: value}, bare=True).splitlines()


def _flat(value: Any) -> str | None:  # noqa: ANN401
    """Return a list or mapping of scalars in one line; None for any other value."""
    if not isinstance(value, Mapping | tuple | list) or not value:
        return None
    inner = value.values() if isinstance(value, Mapping) else value
    return None if any(isinstance(each, Mapping | tuple | list) for each in inner) else yamltext.flow(value, bare=True)
