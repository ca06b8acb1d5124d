"""YAML text that every reader understands alike: 1.1 (Ansible), 1.2 and Go's mixture (Compose).

A general emitter leaves a text bare when its own version of YAML reads it as text, and the next reader
makes a number of the commit `1234567e12`. Here every text value is quoted, in ASCII. The layout is
fixed, as the files are read in reviews: blocks, the order as given, no folding, no anchors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from sparkiac.render.escape import checked


class AnsibleUnsafe(NamedTuple):
    """A mapping whose texts, at any depth, Ansible must not evaluate as templates.

    The tag stands on the collection. On a single text, ansible-core 2.19 forgets the quotes and reads
    `!unsafe "no"` as false.
    """

    mapping: Mapping[str, Value]


Value: TypeAlias = str | int | float | bool | Mapping[str, "Value"] | Sequence["Value"] | AnsibleUnsafe | None
"""What can be written: plain data, and mappings marked for Ansible."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_YAML_1_1_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# YAML 1.2.2, 7.4.2: a key without `?` before it has at most 1024 characters, its quotes included.
_KEY_LENGTH = 1024


def dump(data: Value) -> str:
    """Write `data` as one YAML document, without the `---` that nothing here needs."""
    inline = _inline(data)
    if inline is not None:
        return inline + "\n"
    lines = ["!unsafe"] if isinstance(data, AnsibleUnsafe) else []
    _write_block(lines, "", data)
    return "\n".join(lines) + "\n"


def _write_block(lines: list[str], indent: str, collection: Value) -> None:
    """Write the entries of a collection that is not empty, each at `indent`."""
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
        # The item's first line follows its dash, which takes the place of the indentation.
        _write_block(lines, below, value)
        lines[start] = f"{indent}- {lines[start][len(below) :]}"
    else:
        lines.append(f"{indent}{head}")
        _write_block(lines, below, value)


def _inline(value: Value) -> str | None:  # noqa: PLR0911 - one line for each kind of value
    """Return a value that stands on the line of its key, None for a collection that goes below it."""
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
        message = f"{value} is no number that JSON or Compose can carry"
        raise ValueError(message)
    text = float.__repr__(value)
    # YAML 1.1 takes 1e+16 for text: it wants the point.
    return text if "." in text else text.replace("e", ".0e")


def _key(key: str) -> str:
    plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _YAML_1_1_WORDS
    text = key if plain else _quoted(key)
    if len(text) > _KEY_LENGTH:
        message = f"a key of {len(text)} characters is longer than YAML's {_KEY_LENGTH}"
        raise ValueError(message)
    return text


def _quoted(text: str) -> str:
    # Python's escapes (\\ \n \t \xFF \uFFFF \UFFFFFFFF) are YAML's; only the quote is not among them.
    escaped = checked(text).encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace('"', r"\"") + '"'
