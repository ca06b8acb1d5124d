"""Read a strict subset of YAML, checked on parser events before any object is built.

Text that YAML parsers read in different ways is refused, and size, depth and number of nodes are limited.
Sources of the rules: YAML 1.2.2 and 1.1, and the behaviour of PyYAML 6.0.3 without these checks (duplicate
keys merged silently, aliases expanded without limit, U+0085 read as a line end).
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, NoReturn

from sparkiac.model.base import FORMER_HOSTS
from sparkiac.report import Finding, Mark, Path, Severity
from sparkiac.report.characters import escaped, escaped_line
from sparkiac.source import secrets
from sparkiac.source.document import Document
from sparkiac.source.reader import BEGIN, ERRORS, EventReader, mark_of
from sparkiac.source.text import (
    FORBIDDEN,
    START,
    Ambiguous,
    TextFault,
    characters,
    decode,
    refusal,
    resolve,
    syntax_fault,
)

MAX_DEPTH: Final = 20
MAX_NODES: Final = 200_000
MAX_FAULTS: Final = 100
"""Maximum number of faults that are collected."""

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
_QUOTE: Final = "quote a text; otherwise write a plain decimal number, true, false or null"
_COMMA: Final = "write a decimal point, or quote the value: a comma without a space starts a new key here"
_LONGEST: Final = 40
_HIDDEN: Final = "***"
_HOSTS: Final = "hosts"
_SECTIONS: Final = frozenset({"deployments", "services"})
_OF_MONITORING: Final = frozenset(("monitoring", name) for name in ("grafana", "prometheus", "timer"))
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
    walk = _Strict(text)
    data = walk.run()
    redacted = secrets.without(text, walk.literals) if walk.literals else text
    lines = _lines(redacted if data is not None else secrets.without_rest(redacted))
    document = Document(name, lines, data, walk.values, walk.keys)
    return document, _findings(document, walk.faults)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(secrets.without_literals(text).split("\n"))


def _findings(document: Document, faults: list[TextFault]) -> tuple[Finding, ...]:
    return tuple(
        Finding(fault.code, _SLUGS[fault.code], Severity.ERROR, fault.message, document.loc(fault.mark), fault.hint)
        for fault in faults
    )


class _Strict(EventReader):
    """Refuses what YAML parsers read in different ways, and collects faults."""

    max_depth = MAX_DEPTH
    max_nodes = MAX_NODES

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.faults: list[TextFault] = []
        self.literals: list[Mark] = []
        """Positions of values where a reference to a secret is required."""
        self.in_secret = 0

    def run(self) -> object:
        """Return the data, or None after a fault that ends reading."""
        try:
            data = self.document()
            if data is None:
                self.stop("YML004", START, "the file has no data", BEGIN)
        except ERRORS as error:
            self.faults.append(syntax_fault(self.text, error))
        except _Stop:
            pass
        else:
            return data
        return None

    def second(self, mark: Mark) -> None:
        self.stop("YML006", mark, "a second document starts here", "one file holds one document")

    def alias(self, event: Any) -> object:  # noqa: ANN401  PyYAML's events have no types
        message = f"aliases are not supported: *{self._shown(str(event.anchor))}"
        self._report("YML006", mark_of(event), message, "repeat the value here; use `defaults:` for shared values")
        return None

    def properties(self, event: Any) -> None:  # noqa: ANN401
        if event.anchor is not None:
            message = f"anchors are not supported: &{self._shown(event.anchor)}"
            self._report("YML006", mark_of(event), message, "repeat the value where it is used")
        if event.tag is not None:
            tag = self._shown(event.tag.replace("tag:yaml.org,2002:", "!!"))
            self._report("YML006", mark_of(event), f"tags are not supported: {tag}", "remove the tag")

    def scalar(self, event: Any, path: Path) -> object:  # noqa: ANN401
        """Read a scalar. A literal secret is refused and replaced here, so that no later stage can print it."""
        found = secrets.literal(event.value, path)
        if found is None or (self.in_secret and secrets.variable(path) is None):
            return self._plain(event)
        self._refuse(event, found)
        return _HIDDEN

    def _refuse(self, event: Any, found: str) -> None:  # noqa: ANN401
        self.literals.append(mark_of(event))
        message = f"literal secret (value hidden): it {found}"
        self._report("SEC003", mark_of(event), message, secrets.REMOVE_LITERAL)

    def item(self, event: Any, before: list[object], value: object) -> object:  # noqa: ANN401
        if not before or not secrets.behind_option(before[-1], value):
            return value
        self._refuse(event, f"is the value of {before[-1]}")
        return _HIDDEN

    def pair(self, items: dict[str, object], path: Path, key: str, mark: Mark) -> None:
        name = present_name(path, key)
        here = (*path, name)
        if name not in items:
            self.keys[here] = mark
            items[name] = self._keyed(here, name)
            return
        self._report("YML005", mark, self._repeated(key, self.keys[here]), "remove one of the two")
        self._keyed((*here, _SECOND), name)

    def _repeated(self, key: str, first: Mark) -> str:
        before = self.text.split("\n")[first.line - 1][first.column - 1 : first.end_column - 1].strip("\"'")
        if key != before and FORMER_HOSTS in {key, before}:
            message = f"key '{key}' repeats '{before}' in line {first.line}"
            return f"{message}: `{FORMER_HOSTS}` is the former name of `{_HOSTS}`"
        return f"key '{self._shown(key)}' is repeated; it is already in line {first.line}"

    def _keyed(self, path: Path, key: str) -> object:
        """Read the value of `key` and record its position if it is a literal secret."""
        secret = secrets.is_secret(key)
        self.in_secret += secret
        value = self.node(path)
        self.in_secret -= secret
        if secret and not secrets.is_reference(value):
            self.literals.append(self.values[path])
        return value

    def key(self, event: Any) -> str:  # noqa: ANN401
        mark, shown = mark_of(event), self._shown(event.value)
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
        elif not (plain and event.value == FORMER_HOSTS):
            value = self._plain(event)
            if isinstance(value, str):
                return value
            hint = _COMMA if self._follows_comma(event) else f'write "{shown}" if it is a name'
            self._report("YML008", mark, f"key {shown or '(empty)'} is not a text", hint)
        return str(event.value)

    def _follows_comma(self, event: Any) -> bool:  # noqa: ANN401
        """Return whether a key directly follows a comma, like the digits of 0,85."""
        before: str = self.text.split("\n")[event.start_mark.line][: event.start_mark.column]
        return before.endswith(",")

    def _plain(self, event: Any) -> object:  # noqa: ANN401
        mark = mark_of(event)
        if event.style not in (None, ""):
            bad = FORBIDDEN.search(event.value)
            if bad:
                self._report("YML003", mark, refusal(bad.group()), "remove the escape")
                return escaped(event.value)
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
        return escaped_line(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")

    def _report(self, code: str, mark: Mark, message: str, hint: str) -> None:
        hint = secrets.USE_REFERENCE if self.in_secret and hint != secrets.REMOVE_LITERAL else hint
        self.faults.append(TextFault(code, mark, message, hint))
        if len(self.faults) > MAX_FAULTS:
            raise _Stop

    def stop(self, code: str, mark: Mark, message: str, hint: str) -> NoReturn:
        self._report(code, mark, message, hint)
        raise _Stop


def present_name(path: Path, key: str) -> str:
    """Return the present name of a key in the mapping at `path`: inventories may use its former name forever."""
    is_entry = len(path) == 2 and (path[0] in _SECTIONS or path in _OF_MONITORING)  # noqa: PLR2004  section and name
    return _HOSTS if key == FORMER_HOSTS and is_entry else key
