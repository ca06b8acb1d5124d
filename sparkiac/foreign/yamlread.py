"""YAML of other tools → plain data with the line of each value.

The reader of inventories refuses what parsers read in different ways; these files contain all of it, and the tools that
they were written for read them. So here the last value of a repeated key counts, aliases and merge keys are followed,
tags are ignored, and a word that YAML 1.1 and 1.2 read differently stays a text. Repeated keys and second documents
give notes. Size, depth and number of values are limited, including those that aliases repeat.

A service of Compose is merged with those that it extends (Compose Specification, 05-services.md): mappings are merged
and lists joined; `command` and `entrypoint` replace the inherited ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

from sparkiac.foreign.launch import Note, Unreadable, check_characters, corrected, lost
from sparkiac.report import Mark, Path
from sparkiac.source.reader import ERRORS, EventReader
from sparkiac.source.text import Ambiguous, resolve, syntax_fault

_REPLACED: Final = frozenset({"command", "entrypoint", "healthcheck"})
"""Keys of a service that replace those of the extended one."""
_MAX_EXTENDS: Final = 9
MAX_CHARACTERS: Final = 1 << 20
MAX_DEPTH: Final = 40
MAX_VALUES: Final = 50_000
_MERGE: Final = "<<"


class ForeignContent(NamedTuple):
    """Content of a file of another tool: dict, tuple, str, int, float, bool, None."""

    data: object
    lines: dict[Path, int]
    """Line of each value's key or list item."""
    notes: tuple[Note, ...]

    def line(self, *path: str | int) -> int:
        """Return the line of the value at `path`, or of its nearest known ancestor."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


def read(text: str) -> ForeignContent:
    """Read the first document of `text`. Raises Unreadable for a text that is not YAML or is too large."""
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"the file has {len(text)} characters; at most {MAX_CHARACTERS} are allowed")
    check_characters(text)
    reader = _Lenient(text)
    try:
        data = reader.document()
    except Unreadable:
        raise
    except ERRORS as error:
        fault = syntax_fault(text, error)
        raise Unreadable(fault.message, line=fault.mark.line, column=fault.mark.column) from None
    lines = {path: mark.line for path, mark in (reader.values | reader.keys).items()}
    return ForeignContent(data, lines, tuple(reader.notes))


class _Lenient(EventReader):
    """Accepts what other tools accept."""

    max_depth = MAX_DEPTH
    max_nodes = MAX_VALUES

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.notes: list[Note] = []
        self._anchors: dict[str, tuple[object, int, int]] = {}
        """Name → value, the number of values in it, and its characters."""
        self._repeated = 0

    def scalar(self, event: Any, path: Path) -> object:  # noqa: ANN401, ARG002  PyYAML's events have no types
        if event.style not in (None, ""):
            return str(event.value)
        try:
            return resolve(event.value)
        except Ambiguous:
            return str(event.value)

    def key(self, event: Any) -> str:  # noqa: ANN401
        return str(event.value)

    def pair(self, items: dict[str, object], path: Path, key: str, mark: Mark) -> None:
        here = (*path, key)
        if key in items and key != _MERGE:
            why = f"the key is already in line {self.keys[here].line}; the last value wins"
            self.notes.append(corrected(mark.line, f"{key}:", why))
        self.keys[here] = mark
        value = self.node(here)
        items[key] = {**_merged(value), **_merged(items.get(_MERGE))} if key == _MERGE else value

    def finished(self, items: dict[str, object]) -> dict[str, object]:
        merged = items.pop(_MERGE, {})
        return merged | items if isinstance(merged, dict) else items

    def anchored(self, name: str, value: object, size: int) -> None:
        self._anchors[name] = (value, size, len(str(value)))

    def alias(self, event: Any) -> object:  # noqa: ANN401
        if event.anchor not in self._anchors:
            message = "this alias refers to an unknown anchor, or to a value that contains it"
            raise Unreadable(message, line=event.start_mark.line + 1)
        value, size, characters = self._anchors[event.anchor]
        self.count(event, size)
        self._repeated += characters
        if self._repeated > MAX_CHARACTERS:
            message = f"aliases repeat more than {MAX_CHARACTERS} characters"
            raise Unreadable(message, line=event.start_mark.line + 1)
        return value

    def second(self, mark: Mark) -> None:
        self.notes.append(lost(mark.line, "---", "a second document starts here; only the first is read"))

    def stop(self, code: str, mark: Mark, message: str, hint: str) -> NoReturn:  # noqa: ARG002  hints are for inventories
        raise Unreadable(message, line=mark.line, column=mark.column)


def _merged(value: object) -> dict[str, object]:
    """Return the mappings of a merge key as one; the first one wins."""
    joined: dict[str, object] = {}
    for each in reversed(value if isinstance(value, tuple) else (value,)):
        joined |= each if isinstance(each, dict) else {}
    return joined


def is_elsewhere(value: object) -> bool:
    """Return whether `extends` names a service in another file."""
    return isinstance(value, dict) and "file" in value


def extended(services: Mapping[str, Any], name: str, depth: int = 0) -> Any:  # noqa: ANN401  any plain data
    """Return a service merged with the services that it extends within the same file."""
    own = services[name]
    extends = own.get("extends") if isinstance(own, dict) else None
    base = str(extends.get("service") if isinstance(extends, dict) else extends)
    if is_elsewhere(extends) or base not in services.keys() - {name} or depth > _MAX_EXTENDS:
        return own
    inherited = extended(services, base, depth + 1)
    return _overlaid(inherited, own) if isinstance(inherited, dict) else own


def _overlaid(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{key: _overlaid_value(key, base.get(key), value) for key, value in own.items()}}


def _overlaid_value(key: str, base: Any, own: Any) -> Any:  # noqa: ANN401
    if key == "environment" and base is not None and own is not None:
        return _variables(base) | _variables(own)
    if key in _REPLACED or type(base) is not type(own):
        return own
    if isinstance(own, dict):
        return _overlaid(base, own)
    return (*base, *(each for each in own if each not in base)) if isinstance(own, tuple) else own


def _variables(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return variables as a mapping, also if they are written as a list."""
    if isinstance(value, dict):
        return value
    pairs = (str(each).partition("=") for each in (value if isinstance(value, tuple) else ()))
    return {name: text if equals else None for name, equals, text in pairs}
