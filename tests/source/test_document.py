"""A document answers every path with a place."""

from __future__ import annotations

import pytest

from sparkiac.source import gate

TEXT = "# first\na:\n  b: x\n  c:\n    - d: 1\n  e: {f: [1,\n    2]}\n"


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (2, 1), (2, 1)),
        (("a",), (2, 1), (2, 1)),
        (("a", "b"), (3, 6), (3, 3)),
        (("a", "c"), (4, 3), (4, 3)),
        (("a", "c", 0), (5, 7), (5, 7)),
        (("a", "c", 0, "d"), (5, 10), (5, 7)),
        (("a", "e", "f"), (6, 7), (6, 7)),
        (("a", "e", "f", 1), (7, 5), (7, 5)),
        (("a", "c", 0, "x", "y"), (5, 7), (5, 7)),
        (("a", "x", 3), (2, 1), (2, 1)),
        (("x",), (2, 1), (2, 1)),
    ],
)
def test_places(path: tuple[str | int, ...], value: tuple[int, int], key: tuple[int, int]) -> None:
    document, _ = gate.read(TEXT.encode(), name="lab.yaml")
    assert document.at_value(path).mark[:2] == value
    assert document.at_key(path).mark[:2] == key
    assert document.at_key(path).text == TEXT.split("\n")[key[0] - 1]


def test_a_file_without_data_starts_at_its_start() -> None:
    document, _ = gate.read(b"", name="lab.yaml")
    assert document.at_value(("a",)).mark[:2] == (1, 1)
