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
    """A mapping whose texts, at any depth, Ansible must not evaluate as templates.

    The tag is written on the mapping: on a single text, ansible-core 2.19 ignores the quotes and reads `!unsafe "no"`
    as false.
    """

    mapping: Mapping[str, Value]


Value: TypeAlias = str | int | float | bool | Mapping[str, "Value"] | Sequence["Value"] | AnsibleUnsafe | None
"""Data that can be written: plain data, and mappings that are marked for Ansible."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_YAML_1_1_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# YAML 1.2.2, 7.4.2: a key without `?` before it has at most 1024 characters, including its quotes.
_KEY_LENGTH = 1024


def dump(data: Value) -> str:
    """Return `data` as one YAML document, without `---`."""
    inline = _inline(data)
    if inline is not None:
        return inline + "\n"
    lines = ["!unsafe"] if isinstance(data, AnsibleUnsafe) else []
    _write_block(lines, "", data)
    return "\n".join(lines) + "\n"


def _write_block(lines: list[str], indent: str, collection: Value) -> None:
    """Append the entries of a collection that is not empty, each with `indent`."""
    if isinstance(collection, AnsibleUnsafe):
        collection = collection.mapping
    if isinstance(collection, Mapping):
        for key, value in collection.items():
            _write_entry(lines, indent, f"{_key(key)}:", value)
    else:
        for value in cast("Sequence[Value]", collection):
            _write_entry(lines, indent, "-", value)


def _write_entry(lines: list[str], indent: str, head: str, value: Value) -> None:
    inline = _inline(value)
    if inline is not None:
        lines.append(f"{indent}{head} {inline}")
        return
    if isinstance(value, AnsibleUnsafe):
        head += " !unsafe"
    below = indent + "  "
    start = len(lines)
    if head == "-":
        # The first line of the item follows the dash, which replaces its indentation.
        _write_block(lines, below, value)
        lines[start] = f"{indent}- {lines[start][len(below) :]}"
    else:
        lines.append(f"{indent}{head}")
        _write_block(lines, below, value)


def _inline(value: Value) -> str | None:  # noqa: PLR0911 - one line for each kind of value
    """Return a value in one line, or None for a collection that needs lines of its own."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, AnsibleUnsafe):
        return None if value.mapping else "!unsafe {}"
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


def _key(key: str) -> str:
    plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _YAML_1_1_WORDS
    text = key if plain else _quoted(key)
    if len(text) > _KEY_LENGTH:
        message = f"a key has {len(text)} characters; YAML allows at most {_KEY_LENGTH}"
        raise ValueError(message)
    return text


def _quoted(text: str) -> str:
    # The escapes of Python (\\ \n \t \xFF \uFFFF \UFFFFFFFF) are also escapes of YAML; only the quote must be added.
    escaped = checked(text).encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace('"', r"\"") + '"'
