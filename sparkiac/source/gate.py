"""Read a strict subset of YAML, checked on parser events before any object is built.

Text that YAML parsers read in different ways is refused, and size, depth and number of nodes are limited.
Sources of the rules: YAML 1.2.2 and 1.1, and the behaviour of PyYAML 6.0.3 without these checks (duplicate
keys merged silently, aliases expanded without limit, U+0085 read as a line end).
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import yaml

from sparkiac.characters import line, shown
from sparkiac.report import Finding, Mark, Path, Severity
from sparkiac.source import literals, secrets, syntax
from sparkiac.source.document import Document
from sparkiac.source.scalars import Ambiguous, resolve
from sparkiac.source.text import FORBIDDEN, START, TextFault, characters, decode, refusal

MAX_DEPTH: Final = 20
MAX_NODES: Final = 200_000
MAX_FAULTS: Final = 100
"""Maximum number of faults that are collected."""

_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_SLUGS: Final = {
    "YML001": "encoding",
    "YML002": "too-large",
    "YML003": "character",
    "YML004": "syntax",
    "YML005": "duplicate-key",
    "YML006": "not-plain-yaml",
    "YML007": "ambiguous-word",
    "YML008": "key-type",
    "SEC003": "literal-secret",
}
_KEY_ON: Final = "on"
"""The key `on` is a truth value in YAML 1.1 and a text in YAML 1.2, which editors follow; it is read as text."""
_QUOTE: Final = "quote a text; otherwise write a plain decimal number, true, false or null"
_COMMA: Final = "write a decimal point, or quote the value: a comma without a space starts a new key here"
_BEGIN: Final = "an inventory starts with `name:` and `hosts:`; `sparkiac lock` writes a lock"
_LONGEST: Final = 40
_HIDDEN: Final = "***"
_SECOND: Final = -1
"""Path index of the value of a repeated key, so that it does not replace the positions of the first one."""


class _Stop(Exception):  # noqa: N818  control flow, not an error for the caller
    """Stops reading after a fault that the parser cannot recover from."""


def read(raw: bytes, *, name: str) -> tuple[Document, tuple[Finding, ...]]:
    """Read bytes into a Document and the findings about it.

    `data` of the document is None when it could not be read to its end; then there is a finding.
    """
    text, fault = decode(raw)
    faults = [fault] if fault else list(islice(characters(text), MAX_FAULTS + 1))
    if faults:
        document = Document(name, _lines(secrets.without_rest(text)), None, {}, {})
        return document, _findings(document, faults)
    walk = _Walk(text)
    data = walk.run()
    shown = secrets.without(text, walk.literals) if walk.literals else text
    lines = _lines(shown if data is not None else secrets.without_rest(shown))
    document = Document(name, lines, data, walk.values, walk.keys)
    return document, _findings(document, walk.faults)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(secrets.without_literals(text).split("\n"))


def _findings(document: Document, faults: list[TextFault]) -> tuple[Finding, ...]:
    return tuple(
        Finding(fault.code, _SLUGS[fault.code], Severity.ERROR, fault.message, document.loc(fault.mark), fault.hint)
        for fault in faults
    )


class _Walk:
    """Builds data from parser events and collects faults."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.faults: list[TextFault] = []
        self.values: dict[Path, Mark] = {}
        self.keys: dict[Path, Mark] = {}
        self.literals: list[Mark] = []
        """Positions of values where a reference to a secret is required."""
        self.nodes = 0
        self.in_secret = 0

    def run(self) -> object:
        """Return the data, or None after a fault that ends reading."""
        loader = _LOADER(self.text)
        try:
            return self._document(loader)
        except (yaml.YAMLError, ValueError) as error:  # ValueError: the pure loader's chr() and int()
            self.faults.append(syntax.fault(self.text, error))
        except _Stop:
            pass
        finally:
            loader.dispose()
        return None

    def _document(self, loader: Any) -> object:  # noqa: ANN401  PyYAML's loaders, events and marks have no types
        loader.get_event()
        if loader.check_event(yaml.StreamEndEvent):
            self._stop("YML004", START, "the file is empty", _BEGIN)
        loader.get_event()
        data = self._node(loader, loader.get_event(), ())
        loader.get_event()
        if not loader.check_event(yaml.StreamEndEvent):
            mark = _mark(loader.get_event())
            self._stop("YML006", mark, "a second document starts here", "one file holds one document")
        if data is None:
            self._stop("YML004", START, "the file has no data", _BEGIN)
        return data

    def _node(self, loader: Any, event: Any, path: Path) -> object:  # noqa: ANN401
        self._count(event)
        if len(path) > MAX_DEPTH:
            self._stop(
                "YML002",
                _mark(event),
                f"nested more than {MAX_DEPTH} levels deep",
                "reduce the nesting; no inventory needs so many levels",
            )
        if isinstance(event, yaml.AliasEvent):
            self.values[path] = _mark(event)
            message = f"alias *{self._shown(str(event.anchor))}"
            self._report("YML006", _mark(event), message, "repeat the value here; use `defaults:` for shared values")
            return None
        if event.anchor is not None:
            message = f"anchor &{self._shown(event.anchor)}"
            self._report("YML006", _mark(event), message, "repeat the value where it is used")
        if event.tag is not None:
            tag = self._shown(event.tag.replace("tag:yaml.org,2002:", "!!"))
            self._report("YML006", _mark(event), f"tag {tag}", "remove the tag")
        if isinstance(event, yaml.ScalarEvent):
            self.values[path] = _mark(event)
            return self._open(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(loader, event, path)
        return self._mapping(loader, event, path)

    def _open(self, event: Any, path: Path) -> object:  # noqa: ANN401
        """Read a scalar. A literal secret is refused and replaced here, so that no later stage can print it."""
        found = secrets.literal(event.value, path)
        if found is None or (self.in_secret and not secrets.is_variable(path)):
            return self._scalar(event)
        self._refuse(event, found)
        return _HIDDEN

    def _refuse(self, event: Any, found: str) -> None:  # noqa: ANN401
        self.literals.append(_mark(event))
        message = f"literal secret (value hidden): it {found}"
        self._report("SEC003", _mark(event), message, secrets.REMOVE_LITERAL)

    def _sequence(self, loader: Any, event: Any, path: Path) -> tuple[object, ...]:  # noqa: ANN401
        items: list[object] = []
        while not loader.check_event(yaml.SequenceEndEvent):
            item = loader.get_event()
            value = self._node(loader, item, (*path, len(items)))
            if items and secrets.behind_option(items[-1], value):
                self._refuse(item, f"is the value of {items[-1]}")
                value = _HIDDEN
            items.append(value)
        self.values[path] = _mark(event, loader.get_event())
        return tuple(items)

    def _mapping(self, loader: Any, event: Any, path: Path) -> dict[str, object]:  # noqa: ANN401
        items: dict[str, object] = {}
        while not loader.check_event(yaml.MappingEndEvent):
            key_event = loader.get_event()
            key = self._key(key_event)
            here = (*path, key)
            if key not in items:
                self.keys[here] = _mark(key_event)
                items[key] = self._value(loader, here, key)
                continue
            message = f"key '{self._shown(key)}' is repeated; it is already in line {self.keys[here].line}"
            self._report("YML005", _mark(key_event), message, "remove one of the two")
            self._value(loader, (*here, _SECOND), key)
        self.values[path] = _mark(event, loader.get_event())
        return items

    def _value(self, loader: Any, path: Path, key: str) -> object:  # noqa: ANN401
        """Read the value of `key` and record its position if it is a literal secret."""
        secret = literals.is_secret(key)
        self.in_secret += secret
        value = self._node(loader, loader.get_event(), path)
        self.in_secret -= secret
        if secret and not secrets.is_reference(value):
            self.literals.append(self.values[path])
        return value

    def _key(self, event: Any) -> str:  # noqa: ANN401
        if not isinstance(event, yaml.ScalarEvent):
            self._stop(
                "YML008",
                _mark(event),
                "a key must be a single word",
                "a list or mapping cannot be a key; quote a value that starts with two brackets",
            )
        self._count(event)
        mark, shown = _mark(event), self._shown(event.value)
        plain = event.style in (None, "")
        if event.anchor is not None or event.tag is not None:
            self._report("YML006", mark, "anchors and tags are not supported", "remove it")
        elif plain and event.value == "<<":
            self._report(
                "YML006", mark, "merge keys are not supported", "repeat the keys; use `defaults:` for shared values"
            )
        elif secrets.literal(event.value, ()):
            self._refuse(event, "looks like a secret")
            return _HIDDEN
        elif not (plain and event.value == _KEY_ON):
            value = self._scalar(event)
            if isinstance(value, str):
                return value
            hint = _COMMA if self._follows_comma(event) else f'write "{shown}" if it is a name'
            self._report("YML008", mark, f"key {shown or '(empty)'} is not a text", hint)
        return str(event.value)

    def _follows_comma(self, event: Any) -> bool:  # noqa: ANN401
        """Return whether a key directly follows a comma, like the digits of 0,85."""
        before: str = self.text.split("\n")[event.start_mark.line][: event.start_mark.column]
        return before.endswith(",")

    def _scalar(self, event: Any) -> object:  # noqa: ANN401
        mark = _mark(event)
        if event.style not in (None, ""):
            bad = FORBIDDEN.search(event.value)
            if bad:
                self._report("YML003", mark, refusal(bad.group()), "remove the escape")
                return shown(event.value)
            return str(event.value)
        try:
            return resolve(event.value)
        except Ambiguous as reason:
            self._report("YML007", mark, f"{self._shown(event.value)} is {reason}", _QUOTE)
            return str(event.value)

    def _shown(self, text: str) -> str:
        """Escape and shorten a text of the file for a message."""
        if self.in_secret or secrets.literal(text, ()):
            return _HIDDEN
        return line(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")

    def _count(self, event: Any) -> None:  # noqa: ANN401
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"more than {MAX_NODES} keys and values"
            self._stop("YML002", _mark(event), message, "split the fleet into several inventories")

    def _report(self, code: str, mark: Mark, message: str, hint: str) -> None:
        hint = secrets.USE_REFERENCE if self.in_secret and hint != secrets.REMOVE_LITERAL else hint
        self.faults.append(TextFault(code, mark, message, hint))
        if len(self.faults) > MAX_FAULTS:
            raise _Stop

    def _stop(self, code: str, mark: Mark, message: str, hint: str) -> None:
        self._report(code, mark, message, hint)
        raise _Stop


def _mark(start: Any, end: Any = None) -> Mark:  # noqa: ANN401
    """Return the position of an event, or the range of a collection."""
    first, last = start.start_mark, (end or start).end_mark
    return Mark(first.line + 1, first.column + 1, last.line + 1, last.column + 1)
