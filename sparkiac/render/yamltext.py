"""Write YAML that all parsers read in the same way: YAML 1.1 (Ansible), YAML 1.2, and the mixture in Go (Compose).

A general YAML writer leaves a text unquoted if its own YAML version reads it as text; another parser may then read the
commit `1234567e12` as a number. This writer quotes every text, in ASCII. The layout is fixed because people review the
files: block style, given order, no folding, no anchors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from sparkiac.render.escape import checked


class AnsibleUnsafe(NamedTuple):
    """A text that Ansible would evaluate as a template and must not."""

    text: str


Value: TypeAlias = str | int | float | bool | Mapping[str, "Value"] | Sequence["Value"] | AnsibleUnsafe | None
"""Data that can be written: plain data, and texts that are marked for Ansible."""
_TEMPLATE = ("{{", "{%", "{#")

_WORD = re.compile(r"[A-Za-z/][A-Za-z0-9._/-]*(?::[A-Za-z0-9][A-Za-z0-9._-]*)?")
_PATH_KEY = re.compile(r"(?:/[A-Za-z0-9._][A-Za-z0-9._-]*)+")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_YAML_1_1_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# YAML 1.2.2, 7.4.2: a key without `?` before it has at most 1024 characters, including its quotes.
_KEY_LENGTH = 1024


def dump(data: Value, *, bare: bool = False) -> str:
    """Return `data` as one YAML document in blocks, without `---`.

    With `bare`, words that every reader takes for the same text have no quotes: for files that people edit.
    """
    inline = _inline(data, bare=bare)
    if inline is not None:
        return inline + "\n"
    lines: list[str] = []
    _write_block(lines, "", data, bare=bare)
    return "\n".join(lines) + "\n"


def without_templates(data: Value) -> Value:
    """Return `data` with a mark on every text, at any depth, that Ansible would evaluate as a template.

    No other text is marked: ansible-core 2.16 loses the lists in a marked mapping, and 2.19 ignores the quotes of a
    marked text and reads `!unsafe "no"` as false.
    """
    if isinstance(data, str):
        return AnsibleUnsafe(data) if any(start in data for start in _TEMPLATE) else data
    if isinstance(data, Mapping):
        return {name: without_templates(value) for name, value in data.items()}
    return [without_templates(value) for value in data] if isinstance(data, (list, tuple)) else data


def flow(data: Value, *, bare: bool = False) -> str:
    """Return `data` in one line, collections in brackets."""
    if isinstance(data, Mapping):
        return f"{{{', '.join(f'{key(name, bare=bare)}: {flow(value, bare=bare)}' for name, value in data.items())}}}"
    if isinstance(data, (list, tuple)):
        return f"[{', '.join(flow(value, bare=bare) for value in data)}]"
    return dump(data, bare=bare).removesuffix("\n")


def key(text: str, *, bare: bool = False) -> str:
    """Return a key of a mapping, without its colon."""
    plain = _PLAIN_KEY.fullmatch(text) and text.lower() not in _YAML_1_1_WORDS
    if not (plain or (bare and _PATH_KEY.fullmatch(text))):
        text = _quoted(text)
    if len(text) > _KEY_LENGTH:
        message = f"a key of {len(text)} characters is longer than YAML's {_KEY_LENGTH}"
        raise ValueError(message)
    return text


def _write_block(lines: list[str], indent: str, collection: Value, *, bare: bool) -> None:
    """Write the entries of a collection that is not empty, each at `indent`."""
    if isinstance(collection, Mapping):
        for name, value in collection.items():
            _write_entry(lines, indent, f"{key(name, bare=bare)}:", value, bare=bare)
    else:
        for value in cast("Sequence[Value]", collection):
            _write_entry(lines, indent, "-", value, bare=bare)


def _write_entry(lines: list[str], indent: str, head: str, value: Value, *, bare: bool) -> None:
    inline = _inline(value, bare=bare)
    if inline is not None:
        lines.append(f"{indent}{head} {inline}")
        return
    below = indent + "  "
    start = len(lines)
    if head == "-":
        # The item's first line follows its dash, which takes the place of the indentation.
        _write_block(lines, below, value, bare=bare)
        lines[start] = f"{indent}- {lines[start][len(below) :]}"
    else:
        lines.append(f"{indent}{head}")
        _write_block(lines, below, value, bare=bare)


def _inline(value: Value, *, bare: bool) -> str | None:  # noqa: PLR0911 - one line for each kind of value
    """Return a value as it is written after its key, None for a collection, which is written below the key."""
    if isinstance(value, str):
        return value if bare and _WORD.fullmatch(value) and value.lower() not in _YAML_1_1_WORDS else _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, AnsibleUnsafe):
        return f"!unsafe {_quoted(value.text)}"
    if isinstance(value, Mapping):
        return None if value else "{}"
    if isinstance(value, (list, tuple)):
        return None if value else "[]"
    message = f"{type(value).__name__} is not plain data"
    raise TypeError(message)


def _float(value: float) -> str:
    if not math.isfinite(value):
        message = f"{value} is not a number that JSON or Compose can represent"
        raise ValueError(message)
    text = float.__repr__(value)
    # YAML 1.1 reads 1e+16 as text, because a number needs a decimal point there.
    return text if "." in text else text.replace("e", ".0e")


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and "\\" not in text and '"' not in text:
        return f'"{text}"'
    # The escapes of Python (\\ \n \t \xFF \uFFFF \UFFFFFFFF) are also escapes of YAML; only the quote must be added.
    escaped = checked(text).encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace('"', r"\"") + '"'
