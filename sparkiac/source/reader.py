"""Read YAML from the parser's events into plain data, with the position of every key and value.

This is the only place that reads YAML. A subclass decides what is refused and what is accepted: `gate` for files of
sparkiac, `foreign.yamlread` for files of other tools.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final, NoReturn

import yaml

from sparkiac.report import Mark, Path
from sparkiac.source.text import LOADER, START

ERRORS: Final = (yaml.YAMLError, ValueError)
"""What the parser raises; ValueError comes from chr() and int() of the parser in Python."""
BEGIN: Final = "an inventory starts with `name:` and `hosts:`; `sparkiac lock` writes a lock"
_NO_KEY: Final = "a list or mapping cannot be a key; quote a value that starts with two brackets"


class EventReader(ABC):
    """Builds dict, tuple, str, int, float, bool and None from parser events."""

    max_depth: ClassVar[int]
    max_nodes: ClassVar[int]

    def __init__(self, text: str) -> None:
        """Read from `text`."""
        self.text = text
        self.values: dict[Path, Mark] = {}
        self.keys: dict[Path, Mark] = {}
        self.nodes = 0
        self._loader = LOADER(text)

    def document(self) -> object:
        """Return the data of the first document. Raises what the parser and the subclass raise."""
        loader = self._loader
        try:
            loader.get_event()
            if loader.check_event(yaml.StreamEndEvent):
                self.stop("YML004", START, "the file is empty", BEGIN)
            loader.get_event()
            data = self.node(())
            loader.get_event()
            if not loader.check_event(yaml.StreamEndEvent):
                self.second(mark_of(loader.get_event()))
            return data
        finally:
            loader.dispose()

    def node(self, path: Path) -> object:
        """Read the next value."""
        event = self._loader.get_event()
        before = self.nodes
        self.count(event)
        if len(path) > self.max_depth:
            message = f"nested more than {self.max_depth} levels deep"
            self.stop("YML002", mark_of(event), message, "reduce the nesting; no key needs more")
        self.values[path] = mark_of(event)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        self.properties(event)
        value = self._value(event, path)
        if event.anchor is not None:
            self.anchored(event.anchor, value, self.nodes - before)
        return value

    def count(self, event: Any, size: int = 1) -> None:  # noqa: ANN401  PyYAML's events have no types
        """Count a key or value; an alias counts as the `size` values that it repeats."""
        self.nodes += size
        if self.nodes > self.max_nodes:
            message = f"more than {self.max_nodes} keys and values"
            self.stop("YML002", mark_of(event), message, "split the fleet into several inventories")

    def _value(self, event: Any, path: Path) -> object:  # noqa: ANN401
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, path)
        return self._mapping(event, path)

    def _sequence(self, start: Any, path: Path) -> tuple[object, ...]:  # noqa: ANN401
        items: list[object] = []
        while not self._loader.check_event(yaml.SequenceEndEvent):
            event = self._loader.peek_event()
            value = self.node((*path, len(items)))
            items.append(self.item(event, items, value))
        self.values[path] = mark_of(start, self._loader.get_event())
        return tuple(items)

    def _mapping(self, start: Any, path: Path) -> dict[str, object]:  # noqa: ANN401
        items: dict[str, object] = {}
        while not self._loader.check_event(yaml.MappingEndEvent):
            event = self._loader.get_event()
            self.count(event)
            if not isinstance(event, yaml.ScalarEvent):
                self.stop("YML008", mark_of(event), "a key must be a single word", _NO_KEY)
            self.pair(items, path, self.key(event), mark_of(event))
        self.values[path] = mark_of(start, self._loader.get_event())
        return self.finished(items)

    def properties(self, event: Any) -> None:  # noqa: ANN401, B027  most files have none
        """Check the anchor and the tag of a value."""

    def item(self, event: Any, before: list[object], value: object) -> object:  # noqa: ANN401, ARG002
        """Return the item of a list that is kept."""
        return value

    def finished(self, items: dict[str, object]) -> dict[str, object]:
        """Return the mapping that is kept."""
        return items

    def anchored(self, name: str, value: object, size: int) -> None:  # noqa: B027  only aliases need it
        """Record a value with an anchor, and the number of values in it."""

    @abstractmethod
    def scalar(self, event: Any, path: Path) -> object:  # noqa: ANN401
        """Return the value of a scalar."""

    @abstractmethod
    def key(self, event: Any) -> str:  # noqa: ANN401
        """Return the text of a key."""

    @abstractmethod
    def pair(self, items: dict[str, object], path: Path, key: str, mark: Mark) -> None:
        """Read the value of a key into the mapping at `path`."""

    @abstractmethod
    def alias(self, event: Any) -> object:  # noqa: ANN401
        """Return the value of an alias."""

    @abstractmethod
    def second(self, mark: Mark) -> None:
        """Handle a second document."""

    @abstractmethod
    def stop(self, code: str, mark: Mark, message: str, hint: str) -> NoReturn:
        """Refuse the file."""


def mark_of(start: Any, end: Any = None) -> Mark:  # noqa: ANN401
    """Return the position of an event, or the range of a collection."""
    first, last = start.start_mark, (end or start).end_mark
    return Mark(first.line + 1, first.column + 1, last.line + 1, last.column + 1)
