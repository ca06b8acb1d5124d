"""For any input: the gate reads what was written, never raises, never takes long, and every place is in the file."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.render import yamltext
from sparkiac.source import gate, reader
from tests.source.reading import BAD, PIECES, SHIPPED, findings, source

if TYPE_CHECKING:
    from sparkiac.source import Source

EXAMPLES = int(os.environ.get("SPARKIAC_FUZZ", "100"))
"""`make test-deep` tries more."""
SECONDS = 20.0
"""CPU time of one example; most take a millisecond."""
_CHARACTERS = st.characters(exclude_categories=("Cc", "Cn", "Cs", "Zl", "Zp"), include_characters="\n\t")
_TEXTS = st.one_of(
    st.text(_CHARACTERS, max_size=12).filter(lambda text: not gate.FORBIDDEN.search(text)),
    st.sampled_from(["no", "1.10", "22:22", "null", "~", "<<", "on", "010", "a: b", "- a", "# x", "'", '"', "$", "\\"]),
)
_DATA: Any = st.recursive(
    st.one_of(
        _TEXTS,
        st.booleans(),
        st.none(),
        st.integers(-(10**17), 10**17),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=4)),
    max_leaves=12,
)
_MAPPINGS = st.dictionaries(_TEXTS, _DATA, min_size=1, max_size=4)


class _Dumper(yaml.SafeDumper):
    """Writes no aliases: a value that is there twice is written twice."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def plain(value: object) -> object:
    """Return data with lists as tuples, and each value with its type: 1, 1.0 and true are three values."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return tuple(plain(inner) for inner in value)
    return type(value), value


@settings(max_examples=EXAMPLES)
@given(data=_MAPPINGS)
def test_what_is_dumped_is_read(data: dict[str, Any]) -> None:
    document, found = gate.read(yamltext.dump(data).encode(), name="x")
    assert found == ()
    assert plain(document.data) == plain(data)


@settings(max_examples=EXAMPLES)
@given(data=_MAPPINGS, flow=st.booleans(), width=st.sampled_from([20, 80]))
def test_what_pyyaml_dumps_is_read_or_refused(data: dict[str, Any], flow: bool, width: int) -> None:  # noqa: FBT001
    text = yaml.dump(data, Dumper=_Dumper, allow_unicode=True, default_flow_style=flow, sort_keys=False, width=width)
    document, found = gate.read(text.encode(), name="x")
    assert {finding.code for finding in found} <= {"YML007"}, "a float such as -.5e+3, or a word that needs no quotes"
    if not found:
        assert plain(document.data) == plain(data)


def check(raw: bytes) -> Source[Any]:
    """Read any bytes; look at every place that is given."""
    begun = time.process_time()
    found = source(raw)
    assert time.process_time() - begun < SECONDS
    lines = found.document.lines
    for finding in found.findings:
        assert finding.loc is not None
        mark = finding.loc.mark
        assert 1 <= mark.line <= len(lines)
        assert 1 <= mark.column <= len(lines[mark.line - 1]) + 1
        assert (mark.line, mark.column) <= (mark.end_line, mark.end_column)
        assert mark.end_line <= len(lines)
        assert finding.loc.text == lines[mark.line - 1]
        assert finding.message.isprintable()
    assert (found.value is None) is bool(found.findings)
    return found


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    check(raw)


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_pieces_of_yaml(text: str) -> None:
    check(text.encode())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_mutations_of_shipped_inventories(path: Any) -> None:  # noqa: ANN401
    original = path.read_text(encoding="utf-8")
    chance = random.Random(path.name)
    for _ in range(EXAMPLES // len(SHIPPED)):
        text = original
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(text) + 1)
            end = start + chance.choice((0, 0, 1, 1, 2, 5, 20))
            text = text[:start] + chance.choice(PIECES) + text[end:]
        check(text.encode())


FILES = [*SHIPPED, *BAD]


def read_with(loader: Any, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:  # noqa: ANN401
    """Read with one of PyYAML's loaders; of a syntax error keep the line, its words are the parser's own."""
    monkeypatch.setattr(reader, "LOADER", loader)
    document, _ = gate.read(raw, name="x")
    found = [
        (finding.code, finding.loc.mark.line) if finding.code == "YML004" else finding
        for finding in findings(raw)
        if finding.loc
    ]
    return plain(document.data), document.values, document.keys, found


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_loaders_read_alike(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    raw = path.read_bytes()
    fast = read_with(yaml.CSafeLoader, raw, monkeypatch)
    assert read_with(yaml.SafeLoader, raw, monkeypatch) == fast


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@settings(max_examples=EXAMPLES)
@given(data=_MAPPINGS)
def test_both_loaders_read_any_data_alike(data: dict[str, Any]) -> None:
    raw = yamltext.dump(data).encode()
    with pytest.MonkeyPatch.context() as monkeypatch:
        fast = read_with(yaml.CSafeLoader, raw, monkeypatch)
        assert read_with(yaml.SafeLoader, raw, monkeypatch) == fast


def test_the_pure_loader_refuses_what_python_cannot_make(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ('a: "\\U00110000"\n', f"%YAML 1.{'9' * 5000}\n---\na: b\n"):
        for loader in (reader.LOADER, yaml.SafeLoader):
            monkeypatch.setattr(reader, "LOADER", loader)
            (finding,) = gate.read(text.encode(), name="x")[1]
            assert finding.code == "YML004"
