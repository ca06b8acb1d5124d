"""Foreign YAML → plain data with the line of each value.

The reader of inventories rejects ambiguous YAML, but foreign files contain it, and their own tools accept it. So here
the last of a repeated key wins, aliases and merge keys are followed, tags are ignored, and a word that YAML 1.1 and
1.2 read differently stays text. Each such choice is a note. Size, depth and number of values are limited, including
those that aliases repeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from sparkiac.importers.launch import Note, Unreadable, check_characters
from sparkiac.source.scalars import Ambiguous, resolve

if TYPE_CHECKING:
    from sparkiac.report import Path

MAX_CHARACTERS: Final = 1 << 20
MAX_DEPTH: Final = 40
MAX_VALUES: Final = 50_000
_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_MERGE: Final = "<<"


class ForeignDocument(NamedTuple):
    """A foreign file as plain data: dict, tuple, str, int, float, bool, None."""

    data: object
    lines: dict[Path, int]
    """Line of each value's key or list item."""
    notes: tuple[Note, ...]

    def line(self, *path: str | int) -> int:
        """Return the line of the value at `path`, or of its deepest known parent."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


def read(text: str) -> ForeignDocument:
    """Read the first document of `text`. Raises Unreadable if it is not YAML or too large."""
    if len(text) > MAX_CHARACTERS:
        message = f"the file has {len(text)} characters; at most {MAX_CHARACTERS} are allowed"
        raise Unreadable(message)
    check_characters(text)
    return _YamlReader(text).run()


class _Anchor(NamedTuple):
    """The value of an anchor, with its size."""

    value: object
    size: int


class _YamlReader:
    """Builds data from parser events."""

    def __init__(self, text: str) -> None:
        self.loader = _LOADER(text)
        self.anchors: dict[str, _Anchor] = {}
        self.lines: dict[Path, int] = {}
        self.notes: list[Note] = []
        self.count = 0

    def run(self) -> ForeignDocument:
        """Read the stream's first document."""
        try:
            self.loader.get_event()
            if self.loader.check_event(yaml.StreamEndEvent):
                message = "the file is empty"
                raise Unreadable(message)
            self.loader.get_event()
            data = self._node(())
            self._note_second_document()
        except yaml.MarkedYAMLError as error:
            raise _syntax(error) from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            if isinstance(error, Unreadable):
                raise
            message = "not valid YAML"
            raise Unreadable(message) from None
        finally:
            self.loader.dispose()
        return ForeignDocument(data, self.lines, tuple(self.notes))

    def _note_second_document(self) -> None:
        self.loader.get_event()
        if not self.loader.check_event(yaml.StreamEndEvent):
            line = self.loader.get_event().start_mark.line + 1
            self.notes.append(Note("lost", line, "---", "a second document starts here; only the first is read"))

    def _node(self, path: Path) -> object:
        event = self.loader.get_event()
        self._count(event, 1)
        if len(path) > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise Unreadable(message, line=event.start_mark.line + 1)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self.count
        value = self._value(event, path)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchor(value, self.count - before + 1)
        return value

    def _value(self, event: Any, path: Path) -> object:  # noqa: ANN401  PyYAML's events have no types
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        return self._sequence(path) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(path)

    def _alias(self, event: Any) -> object:  # noqa: ANN401
        kept = self.anchors.get(event.anchor)
        if kept is None:
            message = "this alias refers to an unknown anchor, or to a value that contains it"
            raise Unreadable(message, line=event.start_mark.line + 1)
        self._count(event, kept.size)
        return kept.value

    def _sequence(self, path: Path) -> tuple[object, ...]:
        items: list[object] = []
        while not self.loader.check_event(yaml.SequenceEndEvent):
            here = (*path, len(items))
            self.lines[here] = self.loader.peek_event().start_mark.line + 1
            items.append(self._node(here))
        self.loader.get_event()
        return tuple(items)

    def _mapping(self, path: Path) -> dict[str, object]:
        items: dict[str, object] = {}
        merged: dict[str, object] = {}
        while not self.loader.check_event(yaml.MappingEndEvent):
            event = self.loader.get_event()
            key, line = self._key(event), event.start_mark.line + 1
            value = self._entry((*path, key), line, again=key in items)
            if key == _MERGE:
                merged = {**_merged(value), **merged}
            else:
                items[key] = value
        self.loader.get_event()
        return merged | items

    def _entry(self, here: Path, line: int, *, again: bool) -> object:
        if again:
            why = f"the key is already in line {self.lines[here]}; the last value wins"
            self.notes.append(Note("corrected", line, f"{here[-1]}:", why))
            for known in [each for each in self.lines if each[: len(here)] == here]:
                del self.lines[known]
        self.lines[here] = line
        return self._node(here)

    def _key(self, event: Any) -> str:  # noqa: ANN401
        if not isinstance(event, yaml.ScalarEvent):
            message = "a key must be a scalar, not a list, a mapping or an alias"
            raise Unreadable(message, line=event.start_mark.line + 1, column=event.start_mark.column + 1)
        self._count(event, 1)
        return str(event.value)

    def _count(self, event: Any, size: int) -> None:  # noqa: ANN401
        self.count += size
        if self.count > MAX_VALUES:
            message = f"more than {MAX_VALUES} keys and values"
            raise Unreadable(message, line=event.start_mark.line + 1)


def _scalar(event: Any) -> object:  # noqa: ANN401
    if event.style not in (None, ""):
        return str(event.value)
    try:
        return resolve(event.value)
    except Ambiguous:
        return str(event.value)


def _merged(value: object) -> dict[str, object]:
    """Merge the mappings that a merge key names; earlier ones win."""
    joined: dict[str, object] = {}
    for each in reversed(value if isinstance(value, tuple) else (value,)):
        joined |= each if isinstance(each, dict) else {}
    return joined


def _syntax(error: yaml.MarkedYAMLError) -> Unreadable:
    """Return PyYAML's message without its quotation of the text, which could contain a secret."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    problem = (error.problem or "").partition("'")[0].strip().removesuffix(", but found").removesuffix("found")
    return Unreadable(f"not valid YAML: {problem or 'it cannot be parsed'}", line=line, column=column)
