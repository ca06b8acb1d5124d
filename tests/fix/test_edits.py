"""One fix on a text: what it changes, what it leaves, what it refuses."""

from __future__ import annotations

import pytest

from sparkiac.fix.edits import edited
from sparkiac.fix.nodes import CannotEdit
from sparkiac.report import REMOVE, Edit


def remove(text: str, *paths: tuple[str | int, ...]) -> str:
    return edited(text, [Edit(path, REMOVE) for path in paths])


def put(text: str, path: tuple[str | int, ...], value: str | float | bool | None) -> str:  # noqa: FBT001  a value
    return edited(text, [Edit(path, value)])


BLOCK = """\
# top
name: lab   # of the lab

set:
  # about a
  a: 1  # one

  # about b
  b: 'two'
# below
end: "é😀"
"""


@pytest.mark.parametrize(
    ("text", "paths", "left"),
    [
        (BLOCK, [("set", "a")], BLOCK.replace("  a: 1  # one\n", "")),
        (BLOCK, [("set", "b")], BLOCK.replace("  b: 'two'\n", "")),
        (BLOCK, [("name",), ("end",)], BLOCK.replace("name: lab   # of the lab\n", "").replace('end: "é😀"\n', "")),
        (BLOCK.replace("\n", "\r\n"), [("set", "a")], BLOCK.replace("  a: 1  # one\n", "").replace("\n", "\r\n")),
        ("a: 1\nb: 2", [("b",)], "a: 1\n"),
        ("a: 1\nb: 2", [("a",)], "b: 2"),
        ("a: |\n  one\n\n  two\n\n# three\nb: 2\n", [("a",)], "\n# three\nb: 2\n"),
        ("b: 2\na: >-\n  one\n  # no comment\n", [("a",)], None),
        ("a:\n  b:\n    c: 1\nd: 2\n", [("a", "b", "c")], "d: 2\n"),
        ("a: {b: {c: 1}}  # gone\nd: 2\n", [("a", "b", "c")], "d: 2\n"),
        ("a: {b: {c: 1}, d: 2}\n", [("a", "b", "c")], "a: {d: 2}\n"),
        ("a: { b: 1 , c: 2,d: 3 }  # x\n", [("a", "b")], "a: { c: 2,d: 3 }  # x\n"),
        ("a: { b: 1 , c: 2,d: 3 }  # x\n", [("a", "c")], "a: { b: 1 , d: 3 }  # x\n"),
        ("a: { b: 1 , c: 2,d: 3 }  # x\n", [("a", "d")], "a: { b: 1 , c: 2 }  # x\n"),
        ("a: { b: 1 , c: 2,d: 3 }  # x\n", [("a", "c"), ("a", "d")], "a: { b: 1 }  # x\n"),
        ("a: [x, v, 'z, #', w]\n", [("a", 0), ("a", 1)], "a: ['z, #', w]\n"),
        ("a: [x, v, 'z, #', w]\n", [("a", 0), ("a", 2)], "a: [v, w]\n"),
        ("a: [x, v, 'z, #', w]\n", [("a", 1), ("a", 3)], "a: [x, 'z, #']\n"),
        ("a: [x, v,]\n", [("a", 1)], "a: [x,]\n"),
        ("a: {\n  b: 1,  # one\n  c: 2  # two\n}\n", [("a", "c")], "a: {\n  b: 1,  # one\n}\n"),
        ("a: {\n  b: 1,  # one\n  c: 2  # two\n}\n", [("a", "b")], "a: {\n  c: 2  # two\n}\n"),
        ("l:\n- a: 1\n  b: 2\n- c\n", [("l", 0)], "l:\n- c\n"),
        ("l:\n  - a: 1\n    b: 2\n  - c\n", [("l", 0, "b")], "l:\n  - a: 1\n  - c\n"),
        ("l:\n  - a: 1\n  - c\n", [("l", 0, "a")], "l:\n  - c\n"),
        ("k: 1\nl: [{c: 1}]\n", [("l", 0)], "k: 1\n"),
        ("a: {b, c: 1}\n", [("a", "b")], "a: {c: 1}\n"),
        ("a:\n  b:\nc: 1\n", [("a", "b")], "c: 1\n"),
    ],
)
def test_values_are_taken_out(text: str, paths: list[tuple[str | int, ...]], left: str | None) -> None:
    if left is None:
        with pytest.raises(CannotEdit, match="a comment is among the lines"):
            remove(text, *paths)
    else:
        assert remove(text, *paths) == left


@pytest.mark.parametrize(
    ("text", "path", "value", "new"),
    [
        ("a: 1  # one\nb: 2\n", ("a",), 3, "a: 3  # one\nb: 2\n"),
        ("a: 'x' # one\n", ("a",), None, "a: null # one\n"),
        ("a: {b: 1}\n", ("a", "c"), None, "a: {b: 1, c: null}\n"),
        ("a: 1\r\nb: 2", ("b",), True, "a: 1\r\nb: true"),
        ("a: 'x'\n", ("a",), "it's", "a: 'it''s'\n"),
        ("a: 'x'\n", ("a",), "é: 😀", "a: 'é: 😀'\n"),
        ('a: "x"\n', ("a",), 'é "q"', 'a: "é \\"q\\""\n'),
        ("a: x\n", ("a",), "http://h:1/v1", "a: http://h:1/v1\n"),
        ("a: x\n", ("a",), "no", 'a: "no"\n'),
        ("a: x\n", ("a",), "1.5", 'a: "1.5"\n'),
        ("a: x\n", ("a",), "true", 'a: "true"\n'),
        ("a: x\n", ("a",), "b: c # d", 'a: "b: c # d"\n'),
        ("a: x\n", ("a",), "", 'a: ""\n'),
        ("a: [x, 'y'] # z\n", ("a", 1), "http://h/v1", "a: [x, 'http://h/v1'] # z\n"),
        ("l:\n- x\n- v # z\n", ("l", 1), "w", "l:\n- x\n- w # z\n"),
        ("a:  # none\nb: 1\n", ("a",), 2, "a: 2  # none\nb: 1\n"),
        ("a: {b: 1} # c\n", ("a", "d"), 2, "a: {b: 1, d: 2} # c\n"),
        ("a: {}\n", ("a", "d", "e"), 2, "a: {d: {e: 2}}\n"),
        ("a: {\n  b: 1, # c\n}\n", ("a", "d"), 2, "a: {\n  b: 1, d: 2, # c\n}\n"),
        ("a:\n    b: 1  # c\n    # d\ne: 1\n", ("a", "f"), 2, "a:\n    b: 1  # c\n    f: 2\n    # d\ne: 1\n"),
        ("a:\n    b: 1\n\ne: 1\n", ("a", "f", "g"), 2, "a:\n    b: 1\n    f:\n        g: 2\n\ne: 1\n"),
        ("a: 1", ("b", "c", "d"), "x", "a: 1\nb:\n  c:\n    d: x"),
        ("a: 1\r\nc: 2", ("b",), 1, "a: 1\r\nc: 2\r\nb: 1"),
        ("a:\r\n  b: 1\r\nc: 2\r\n", ("a", "d"), 1, "a:\r\n  b: 1\r\n  d: 1\r\nc: 2\r\n"),
        ("a:\nb: 1\n", ("a", "c"), 1, "a: {c: 1}\nb: 1\n"),
        ("a: null # d\nb: 1\n", ("a", "c", "é"), 1, 'a: {c: {"é": 1}} # d\nb: 1\n'),
        ("l:\n  - a: |\n      x\n\n  - b\n", ("l", 0, "c"), 1, "l:\n  - a: |\n      x\n    c: 1\n\n  - b\n"),
    ],
)
def test_values_are_put_in(text: str, path: tuple[str | int, ...], value: str | int | None, new: str) -> None:
    assert put(text, path, value) == new


def test_a_fix_may_have_several_edits() -> None:
    fix = [Edit(("l", 0), REMOVE), Edit(("e", "a"), 1), Edit(("e", "b"), 2), Edit(("l", 1), "w"), Edit(("x",), REMOVE)]
    assert edited("l: [x, v]\nx: 1\n", fix) == "l: [w]\ne:\n  a: 1\n  b: 2\n"


def test_what_a_fix_moves_is_removed_and_put_elsewhere() -> None:
    fix = [Edit(("a", "x"), REMOVE), Edit(("b", "x"), 1)]
    assert edited("a:\n  x: 1\n  v: 2\n", fix) == "a:\n  v: 2\nb:\n  x: 1\n"


@pytest.mark.parametrize(
    ("text", "edit", "says"),
    [
        ("a: &x 1\nb: *x\n", Edit(("a",), REMOVE), "anchors are not supported: &x"),
        ("a: 1\na: 2\n", Edit(("a",), REMOVE), "is repeated"),
        ("a: 1\n", Edit(("b",), REMOVE), "no longer exists"),
        ("a: [1]\nb: 2\n", Edit(("a", 1), REMOVE), "no longer exists"),
        ("a: 1\n", Edit(("a",), REMOVE), "the file would be empty"),
        ("a: {b: {c: 1}}\n", Edit(("a", "b", "c"), REMOVE), "the file would be empty"),
        ("a: [1]\n", Edit(("a", 1), 2), "lengthen a list"),
        ("a: [1]\n", Edit(("b", 0), 2), "lengthen a list"),
        ("a: x\n", Edit(("a", "b"), 2), "no mapping"),
        ("a: ''\n", Edit(("a", "b"), 2), "no mapping"),
        ("a: [1]\n", Edit(("a", "b"), 2), "no mapping"),
        ("a: [1]\n", Edit(("a",), 2), "not on one line"),
        ("a: |\n  x\n", Edit(("a",), 2), "not on one line"),
        ("a: x\n  y\n", Edit(("a",), 2), "not on one line"),
        ("a: {b, c}\n", Edit(("a", "b"), 2), "no position for its value"),
        ("a: [b, , c]\n", Edit(("a", 1), 2), "did not find expected node"),
        ("l:\n  -\n  - b\n", Edit(("l", 0), 2), "no position for its value"),
        ("l:\n- a: 1\n  b: 2\n", Edit(("l", 0, "a"), REMOVE), "shares its line"),
        ("l:\n-\n  a: 1\n- b\n", Edit(("l", 0), REMOVE), "shares its line"),
        ("{a: 1,\n b: 2}\n", Edit(("b",), REMOVE), "shares its lines"),
        ("{a: 1,\n b: 2}\n", Edit(("a",), REMOVE), "shares its lines"),
        ("a:\n  # why\n  b: 1\nc: 2\n", Edit(("a", "b"), REMOVE), "a comment is among"),
        ("a: |+\n  x\n\n", Edit(("b",), 1), "would change other values"),
        ("a: x\n", Edit(("a",), "\u2028"), "not allowed"),
    ],
)
def test_what_would_touch_other_lines_is_refused(text: str, edit: Edit, says: str) -> None:
    with pytest.raises(CannotEdit, match=says):
        edited(text, [edit])
