"""YAML artifacts: their layout, and that readers of YAML 1.1 and 1.2 both find what was written."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from yamllint import linter
from yamllint.config import YamlLintConfig

from sparkiac.render.yamltext import AnsibleUnsafe, dump, flow, without_templates
from tests.render.hostile import REFUSED, by_name, corpus, different, texts

if TYPE_CHECKING:
    from collections.abc import Callable

LAYOUT = {
    "name": "lab",
    "services": {
        "engine": {
            "command": ["vllm", "serve", '--config={"a":1}'],
            "environment": {"EMPTY": "", "GRÜSSE": "Grüße 😀\n"},
            "ports": [{"target": 8000, "host_ip": "127.0.0.1"}, {"target": 9, "modes": ["a"]}],
            "init": True,
            "read_only": False,
            "cpus": 0.5,
            "nothing": None,
            "no_items": [],
            "no_entries": {},
            "nested": [["a", ["b"]], [[]], [{}]],
        }
    },
    "on": "quoted, or YAML 1.1 reads true",
    "data": {"greeting": AnsibleUnsafe("{{ x }}"), "list": [AnsibleUnsafe("{% x %}"), {"a": 1}]},
}
TEXT = r"""name: "lab"
services:
  engine:
    command:
      - "vllm"
      - "serve"
      - "--config={\"a\":1}"
    environment:
      EMPTY: ""
      "GR\xdcSSE": "Gr\xfc\xdfe \U0001f600\n"
    ports:
      - target: 8000
        host_ip: "127.0.0.1"
      - target: 9
        modes:
          - "a"
    init: true
    read_only: false
    cpus: 0.5
    nothing: null
    no_items: []
    no_entries: {}
    nested:
      - - "a"
        - - "b"
      - - []
      - - {}
"on": "quoted, or YAML 1.1 reads true"
data:
  greeting: !unsafe "{{ x }}"
  list:
    - !unsafe "{% x %}"
    - a: 1
"""


def unwrapped(value: Any) -> Any:  # noqa: ANN401 - any YAML data
    """Return the data without the marks for Ansible, in the types that a reader makes."""
    if isinstance(value, AnsibleUnsafe):
        return value.text
    if isinstance(value, dict):
        return {key: unwrapped(item) for key, item in value.items()}
    return [unwrapped(item) for item in value] if isinstance(value, (list, tuple)) else value


def yaml_1_1(base: type) -> Callable[[str], object]:
    loader = type("Loader", (base,), {})
    loader.add_constructor("!unsafe", lambda self, node: self.construct_scalar(node))  # type: ignore[attr-defined]
    return lambda text: yaml.load(text, loader)  # noqa: S506 - a subclass of the safe loader


def yaml_1_2(text: str) -> object:
    reader = YAML(typ="safe", pure=True)
    reader.constructor.add_constructor("!unsafe", lambda self, node: self.construct_scalar(node))
    return reader.load(text)


READERS = {
    "PyYAML (1.1)": yaml_1_1(yaml.SafeLoader),
    "libyaml (1.1)": yaml_1_1(yaml.CSafeLoader),
    "ruamel.yaml (1.2)": yaml_1_2,
}
READ = pytest.mark.parametrize("read", READERS.values(), ids=READERS)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts()
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts(), inner, max_size=4)
        | texts().map(AnsibleUnsafe)
    ),
    max_leaves=20,
)
KEYS = texts()
PLAIN = st.recursive(
    SCALARS | st.from_regex(r"[A-Za-z/][A-Za-z0-9._/:-]*", fullmatch=True),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def test_the_layout_is_made_to_be_read_and_reviewed() -> None:
    assert dump(LAYOUT) == TEXT


def test_the_layout_passes_yamllint() -> None:
    config = YamlLintConfig("{extends: default, rules: {document-start: disable}}")
    assert list(linter.run(TEXT, config)) == []


@READ
def test_each_reader_finds_what_was_written(read: Callable[[str], object]) -> None:
    assert read(TEXT) == unwrapped(LAYOUT)


@READ
@given(data=DATA)
def test_each_reader_finds_any_data(read: Callable[[str], object], data: Any) -> None:  # noqa: ANN401
    # repr also tells true from 1 and 1 from 1.0.
    assert repr(read(dump(data))) == repr(unwrapped(data))


@READ
@given(data=PLAIN)
def test_each_reader_finds_what_is_in_one_line_or_without_quotes(read: Callable[[str], object], data: Any) -> None:  # noqa: ANN401
    for bare in (False, True):
        assert repr(read(flow(data, bare=bare))) == repr(data)
        assert repr(read(dump(data, bare=bare))) == repr(data)


def test_only_words_that_all_readers_take_for_texts_have_no_quotes() -> None:
    given = {
        "hosts": "spark-01",
        "/models": "/srv/models",
        "image": "a/b:1.2",
        "words": ["yes", "Null", "1.10", "a: b", "-m"],
    }
    assert dump(given, bare=True) == (
        'hosts: spark-01\n/models: /srv/models\nimage: a/b:1.2\nwords:\n  - "yes"\n  - "Null"\n  - "1.10"\n'
        '  - "a: b"\n  - "-m"\n'
    )
    assert flow({"a": ["x", 1], "b": {}}, bare=True) == "{a: [x, 1], b: {}}"


@READ
def test_each_reader_finds_each_hostile_string(read: Callable[[str], object]) -> None:
    strings = corpus(10)
    data: Any = read(dump({"list": strings, "map": by_name(strings)}))
    assert different(strings, data["list"]) == []
    assert different(strings, list(data["map"].values())) == []


@READ
def test_each_reader_finds_each_hostile_key(read: Callable[[str], object]) -> None:
    data = {string: number for number, string in enumerate(corpus(11)) if len(string) < 80}
    assert read(dump(data)) == data


@given(DATA)
def test_the_text_is_ascii_without_tabs_anchors_or_folds(data: Any) -> None:  # noqa: ANN401
    text = dump(data)
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert text.endswith("\n")
    assert not any(line.endswith(" ") or not line for line in text[:-1].split("\n"))


def test_the_same_object_twice_is_written_twice() -> None:
    shared = {"a": "b"}
    assert dump([shared, shared]) == '- a: "b"\n- a: "b"\n'


@pytest.mark.parametrize(
    "word", ["yes", "No", "ON", "off", "true", "FALSE", "null", "Y", "n", "1a", "a b", "a:", "-a", "~", "=", ""]
)
def test_an_ambiguous_key_is_quoted(word: str) -> None:
    assert dump({word: 1}) == f'"{word}": 1\n'


@pytest.mark.parametrize("word", ["a", "_x", "HF_HUB_OFFLINE", "com.example.a-b", "yesno", "nullable", "e3"])
def test_a_plain_key_stays_plain(word: str) -> None:
    assert dump({word: 1}) == f"{word}: 1\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-7, "-7"),
        (10**30, "1" + "0" * 30),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e16, "1.0e+16"),
        (5e-324, "5.0e-324"),
    ],
)
@READ
def test_numbers(read: Callable[[str], object], number: float, text: str) -> None:
    assert dump(number) == text + "\n"
    assert repr(read(text)) == repr(number)


def test_any_mapping_can_be_written() -> None:
    assert dump(MappingProxyType({"a": MappingProxyType({"b": 1})})) == "a:\n  b: 1\n"


def test_only_templates_are_marked_for_ansible() -> None:
    marked = without_templates({"a": "{{ b }}", "c": ["no", {"d": "{% e %}"}, 5, None], "f": "{#"})
    assert dump(marked) == (
        'a: !unsafe "{{ b }}"\nc:\n  - "no"\n  - d: !unsafe "{% e %}"\n  - 5\n  - null\nf: !unsafe "{#"\n'
    )


@pytest.mark.parametrize("string", REFUSED, ids=ascii)
def test_a_character_that_no_file_may_carry_is_refused(string: str) -> None:
    for data in (string, [string], {string: 1}, {"a": {"b": string}}, AnsibleUnsafe(string)):
        with pytest.raises(ValueError, match=r"^character \d+ is U\+"):
            dump(data)


def test_the_longest_key_and_no_longer() -> None:
    longest = {"k" * 1024: 1}
    for read in READERS.values():
        assert read(dump(longest)) == longest
        assert read(dump({"é" * 255: 1})) == {"é" * 255: 1}
    for key in ("k" * 1025, " " * 1023, "é" * 256):
        with pytest.raises(ValueError, match="longer than YAML's 1024"):
            dump({key: 1})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_only_finite_numbers_are_written(number: float) -> None:
    with pytest.raises(ValueError, match="is not a number that JSON or Compose can represent"):
        dump({"a": number})


@pytest.mark.parametrize("value", [{"a"}, b"a", object(), {1: "a"}, {None: "a"}, {True: "a"}])
def test_only_plain_data_is_written(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(TypeError):
        dump([value])
