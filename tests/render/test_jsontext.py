"""JSON for files that people review: the bytes are those of the standard library's writer."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sparkiac.render.jsontext import dump

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)


class Server(NamedTuple):
    """A server, as a plan has it."""

    name: str
    ports: tuple[int, ...]
    limits: object


@given(VALUES)
def test_json_is_written_like_by_the_standard_library(value: object) -> None:
    assert dump(value).decode() == json.dumps(value, indent=1, sort_keys=True) + "\n"


def test_named_tuples_are_objects_and_other_tuples_are_lists() -> None:
    server = Server("chat", (8000, 8001), MappingProxyType({"b": (), "a": {}}))
    expected = {"name": "chat", "ports": [8000, 8001], "limits": {"b": [], "a": {}}}
    assert dump(server).decode() == json.dumps(expected, indent=1, sort_keys=True) + "\n"
