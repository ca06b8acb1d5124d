"""The gate: data and places of what is read, and each fault of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.report import Mark
from sparkiac.source import gate
from sparkiac.source.text import MAX_BYTES
from tests.source.reading import FLEET, at, findings, only, source, stretch

if TYPE_CHECKING:
    from sparkiac.source.document import Document


def read(text: str) -> Document:
    """Read a text that has no fault."""
    document, found = gate.read(text.encode(), name="lab.yaml")
    assert found == ()
    return document


def test_data_is_plain() -> None:
    document = read("a: 1\nb: [x, 1.5, true, null, {c: 'no'}]\nd:\ne: {}\non: spark-01\n")
    assert document.data == {
        "a": 1,
        "b": ("x", 1.5, True, None, {"c": "no"}),
        "d": None,
        "e": {},
        "on": "spark-01",
    }


def test_a_place_for_every_key_and_value() -> None:
    text = "# first\na:\n  - b: 'x'\n    c: [1, 22]\n"
    document = read(text)
    assert document.keys == {
        ("a",): Mark(2, 1, 2, 2),
        ("a", 0, "b"): Mark(3, 5, 3, 6),
        ("a", 0, "c"): Mark(4, 5, 4, 6),
    }
    assert document.values == {
        (): Mark(2, 1, 5, 1),
        ("a",): Mark(3, 3, 5, 1),
        ("a", 0): Mark(3, 5, 5, 1),
        ("a", 0, "b"): Mark(3, 8, 3, 11),
        ("a", 0, "c"): Mark(4, 8, 4, 15),
        ("a", 0, "c", 0): Mark(4, 9, 4, 10),
        ("a", 0, "c", 1): Mark(4, 12, 4, 14),
    }


@pytest.mark.parametrize(
    ("value", "data", "place"),
    [
        ("|\n  one\n  two\n", "one\ntwo\n", "|\n  one\n  two\n"),
        (">-\n  one\n  two\n", "one two", ">-\n  one\n  two\n"),
        ("one\n  two\n", "one two", "one\n  two"),
        ("'one\n  two'\n", "one two", "'one\n  two'"),
        ("'中文 😀'\n", "中文 😀", "'中文 😀'"),
        ("x # comment\n", "x", "x"),
        ("[x,\n  z]\n", ("x", "z"), "[x,\n  z]"),
    ],
)
def test_places_of_values(value: str, data: object, place: str) -> None:
    text = f"name: {value}rest: 1\n"
    document = read(text)
    assert document.data == {"name": data, "rest": 1}
    assert at(text, ("name",)) == place
    assert stretch(text, document.keys["rest",]) == "rest"


def test_windows_line_ends() -> None:
    document = read("a: 1\r\nb:\r\n  c: x\r\n")
    assert document.data == {"a": 1, "b": {"c": "x"}}
    assert document.values["b", "c"] == Mark(3, 6, 3, 7)


def test_columns_count_characters() -> None:
    finding = only(f"{FLEET}  😀中: {{address: 192.168.1.12}}\n")
    assert finding.loc is not None
    assert finding.loc.mark == Mark(4, 3, 4, 5)


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("", "YML004", (1, 1), "the file is empty"),
        ("null\n", "YML004", (1, 1), "the file has no data"),
        ("a: [b\n", "YML004", (1, 4), "not valid YAML: did not find expected ',' or ']', while parsing"),
        ("a: 'b\nc: d\n", "YML004", (1, 4), "not valid YAML: the quoted text that begins here is not closed"),
        ("a: @b\n", "YML004", (1, 4), "not valid YAML: found character that cannot start any token"),
        ("a:\n\tb: c\n", "YML004", (2, 1), "not valid YAML: found character that cannot start any token"),
        ("a: b: c\n", "YML004", (1, 5), "not valid YAML: mapping values are not allowed in this context"),
        ("a: b\na: c\n", "YML005", (2, 1), "key 'a' is repeated; it is already in line 1"),
        ("a: &x b\n", "YML006", (1, 4), "anchors are not supported: &x"),
        ("a: *x\n", "YML006", (1, 4), "aliases are not supported: *x"),
        ("a: !x b\n", "YML006", (1, 4), "tags are not supported: !x"),
        ("a: ! b\n", "YML006", (1, 4), "tags are not supported: !"),
        ("a: !!str b\n", "YML006", (1, 4), "tags are not supported: !!str"),
        ("&x a: b\n", "YML006", (1, 1), "anchors and tags are not supported"),
        ("!x a: b\n", "YML006", (1, 1), "anchors and tags are not supported"),
        ("<<: b\n", "YML006", (1, 1), "merge keys are not supported"),
        ("a: b\n---\nc: d\n", "YML006", (2, 1), "a second document starts here"),
        ("a: no\n", "YML007", (1, 4), "no is a boolean to some YAML parsers and a text to others"),
        ("no: a\n", "YML007", (1, 1), "no is a boolean to some YAML parsers and a text to others"),
        ("1: a\n", "YML008", (1, 1), "key 1 is not a text"),
        ("? \n: a\n", "YML008", (1, 2), "key (empty) is not a text"),
        ("? [a]\n: b\n", "YML008", (1, 3), "a key must be a single word"),
        ('a: "\\x07"\n', "YML003", (1, 4), "character U+0007 is not allowed"),
        ('"\\u202e": a\n', "YML003", (1, 1), "character U+202E is not allowed"),
        ("a: \ufdd0\n", "YML003", (1, 4), "character U+FDD0 is not allowed"),
    ],
)
def test_faults(text: str, code: str, place: tuple[int, int], message: str) -> None:
    document, found = gate.read(text.encode(), name="lab.yaml")
    (finding,) = found
    assert finding.loc is not None
    assert (finding.code, finding.loc.mark[:2]) == (code, place)
    assert finding.message.startswith(message)
    assert finding.loc.file == document.name == "lab.yaml"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n\tb: c\n", "indent with spaces, not tabs"),
        ("a: @b\n", "quote a value that starts with @"),
        ("a: b: c\n", "quote a value that contains a colon and a space"),
        ("a:\n  b: 1\n   c: 2\n", "indent it like the keys beside it, and check the line above"),
        ("a:\n    b: 1\n  c: 2\n", "indent it like the keys beside it, and check the line above"),
        ("a: 1\nb:2\nc: 3\n", "write `key: value`, with a space after the colon"),
        ("a:\n  b:\u00a0x\n  c: y\n", "replace U+00A0, which only looks like a space, by a space"),
        ("a: Gr\u00f6\u00dfe\u00a05\nb: c: d\n", "quote a value that contains a colon and a space"),
        ("a: 'b' c\n", "quote the whole value"),
        ("a: [b\n", "close the open bracket, and quote a value that contains a bracket or a comma"),
        ("a: {b: ${C}}\n", "close the open bracket, and quote a value that contains a bracket or a comma"),
        ("a: {{ b }}\n", "a list or mapping cannot be a key; quote a value that starts with two brackets"),
        ("a: 'b\n", "close the quotation mark"),
        ("a: *b*\n", "quote a value that starts with * or &"),
        ("[a]\nb = c\n", "write the inventory as lines of `key: value`"),
        ("a: - b\n", "start the list on its own line, or write [a, b]"),
        ('a: "C:\\d"\n', "write each backslash twice inside double quotation marks"),
    ],
)
def test_hints_for_syntax(text: str, hint: str) -> None:
    assert only(text).hint == hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: {b: 0,85}\n", "write a decimal point, or quote the value: a comma without a space starts a new key here"),
        ("a: {b: 1, 2: 3}\n", 'write "2" if it is a name'),
    ],
)
def test_a_decimal_comma_is_distinguished_from_a_key_that_is_a_number(text: str, hint: str) -> None:
    _, (finding,) = gate.read(text.encode(), name="lab.yaml")
    assert (finding.code, finding.hint) == ("YML008", hint)


def test_a_bracket_that_is_never_closed_is_named_by_its_line() -> None:
    finding = only("a: {b: 1\nc: 2\n")
    assert finding.loc is not None
    assert finding.loc.mark.line == 2
    assert finding.message.endswith("while parsing a flow mapping that begins in line 1")


def test_words_of_the_file_are_cut_and_harmless_in_messages() -> None:
    messages = [finding.message for finding in findings(f"a: *{'x' * 200}\nb: {'1_' * 200}\n'c\\n': 1\n")]
    assert max(map(len, messages)) < 150
    for finding in findings('hosts: {"\\e[31m": {address: 1}, "a\\nb": {x: 1}}\nname: lab\n'):
        assert finding.message.isprintable()


def test_a_repeated_key_leaves_the_first_one_in_place() -> None:
    text = f"{FLEET}services:\n  a: {{kind: 5}}\n  a: {{kind: [], port: 99999999}}\n"
    found = [(finding.code, finding.loc.mark[:2]) for finding in findings(text) if finding.loc]
    assert ("YML005", (6, 3)) in found
    assert ("INV002", (5, 13)) in found
    assert not [place for _, place in found if place[0] == 6 and place != (6, 3)]


def test_one_fault_is_one_finding() -> None:
    for text in ("010: {address: x}", "a: {address: 010}", "a: *b", "a: {address: &c 10.0.0.1}", 'a: {address: "\\a"}'):
        assert only(f"{FLEET}  {text}\n").code.startswith("YML")


def test_both_stages_speak_at_once() -> None:
    text = "nmae: lab\nhosts:\n  a: {address: 010}\n  b: {adress: x}\n  a: {}\n"
    codes = [finding.code for finding in source(text).findings]
    assert sorted(codes) == ["INV001", "INV001", "YML005", "YML007"]


def codes(raw: bytes) -> list[str]:
    return [finding.code for finding in gate.read(raw, name="x")[1]]


def test_bounds() -> None:
    exact = b"a: b\n#" + b"x" * (MAX_BYTES - 6)
    assert codes(exact) == []
    assert codes(exact + b"x") == ["YML002"]
    depth = gate.MAX_DEPTH
    assert codes(b"[" * depth + b"x" + b"]" * depth) == []
    assert codes(b"[" * (depth + 1) + b"x" + b"]" * (depth + 1)) == ["YML002"]
    nodes = gate.MAX_NODES
    assert codes(b"[" + b"a," * (nodes - 1) + b"]") == []
    assert codes(b"[" + b"a," * nodes + b"]") == ["YML002"]


@pytest.mark.parametrize(
    "text",
    [
        f"{FLEET}allow: [{'no,' * 300}]\n",
        f"{FLEET}allow: [{'5,' * 300}]\n",
        f"{FLEET}defaults: {{{','.join(f'k{number}: 1' for number in range(300))}}}\n",
        "\x07" * 300,
    ],
)
def test_a_long_list_of_faults_is_cut(text: str) -> None:
    found = findings(text)
    assert len(found) == gate.MAX_FAULTS + 1
    assert (found[-1].code, found[-1].message) == ("YML009", "only the first 100 errors of this file are shown")
    assert len(findings(f"{FLEET}allow: [{'no,' * 100}]\n")) == 100


def test_a_merge_conflict_is_named_where_it_begins() -> None:
    sides = "<<<<<<< HEAD\nhosts: {}\n=======\nhosts: {a: 1}\n>>>>>>> other\n"
    (found,) = findings(f"name: lab\n{sides}")
    assert found.loc is not None
    assert (found.code, found.message, found.loc.mark[:2]) == ("YML004", "a merge conflict begins here", (2, 1))


def test_an_empty_lock_is_told_who_writes_it() -> None:
    (found,) = findings("")
    assert "`sparkiac lock` writes a lock" in found.hint
