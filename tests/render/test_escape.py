"""What each encoder writes and refuses. The real parsers are in the test_escape_* beside this file."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sparkiac.render.escape import (
    checked,
    compose,
    compose_tree,
    environment_file,
    json_argument,
    markdown_cell,
    shell_word,
    sysctl_line,
    systemd_argument,
    systemd_command,
    systemd_environment,
    systemd_text,
)
from tests.render.hostile import REFUSED, SPECULATIVE_CONFIG, corpus, texts

if TYPE_CHECKING:
    from collections.abc import Callable

ENCODERS: list[Callable[[str], str]] = [
    checked,
    compose,
    markdown_cell,
    shell_word,
    systemd_argument,
    systemd_text,
    lambda text: environment_file("NAME", text),
    lambda text: systemd_environment("NAME", text),
]
LONGEST_WORD = 131_071


# -- characters that no format gets ---------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("string", REFUSED, ids=ascii)
def test_each_encoder_refuses_what_no_file_may_carry(encoder: Callable[[str], str], string: str) -> None:
    with pytest.raises(ValueError, match=r"^character \d+ is U\+[0-9A-F]{4,6}: "):
        encoder(string)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\x00", "character 1 is U+0000"),
        ("ab\x1b[31m", "character 3 is U+001B"),
        ("é😀\ud800", "character 3 is U+D800"),
        ("x\U0010ffff", "character 2 is U+10FFFF"),
    ],
    ids=ascii,
)
def test_a_refusal_names_position_and_code_point(text: str, place: str) -> None:
    with pytest.raises(ValueError, match=f"^{place.replace('+', '[+]')}: generated files must not contain it$"):
        checked(text)


def test_nothing_else_is_refused() -> None:
    assert [string for string in corpus() if checked(string) != string] == []


# -- systemd --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "encoded"),
    [
        ("--port=8000", "--port=8000"),
        ("/srv/models/a-b_c.gguf", "/srv/models/a-b_c.gguf"),
        ("", '""'),
        ("a b", '"a b"'),
        (";", '";"'),
        ("$FOO", '"$$FOO"'),
        ("50%n", '"50%%n"'),
        ('{"a":1}', r'"{\"a\":1}"'),
        ("a\\", r'"a\\"'),
        ("a\n\tb", r'"a\n\tb"'),
        ("é😀", '"é😀"'),
    ],
)
def test_systemd_argument(word: str, encoded: str) -> None:
    assert systemd_argument(word) == encoded


def test_systemd_command_quotes_each_word_but_not_its_program() -> None:
    argv = ["/usr/bin/docker", "compose", "-p", "a b"]
    assert systemd_command(argv) == '/usr/bin/docker compose -p "a b"'


@pytest.mark.parametrize("program", ["", "docker", "-/bin/x", "/bin/a b", "/bin/$X", "/bin/%n", "/bin/x\n", "/bin/é"])
def test_systemd_command_takes_a_literal_absolute_program(program: str) -> None:
    with pytest.raises(ValueError, match="is not a plain absolute path"):
        systemd_command([program, "x"])


def test_a_unit_line_over_1_mib_is_refused() -> None:
    words = ["a" * 131_000] * 8
    assert len(systemd_command(["/bin/x", *words, "b" * 400])) < 1024 * 1024
    with pytest.raises(ValueError, match="1048576 bytes; a line of a systemd unit has at most 1048512"):
        systemd_command(["/bin/x", *words, "b" * 561])


def test_systemd_environment_keeps_a_dollar_sign() -> None:
    assert systemd_environment("A", "1") == "A=1"
    assert systemd_environment("A", "$HOME 50%") == '"A=$HOME 50%%"'


@pytest.mark.parametrize("name", ["", "1A", "A B", "A=B", "A\n", "é", "A-B"])
@pytest.mark.parametrize("encoder", [systemd_environment, environment_file])
def test_a_variable_has_a_name(encoder: Callable[[str, str], str], name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid name of an environment variable"):
        encoder(name, "x")


def test_systemd_text_doubles_specifiers_and_nothing_else() -> None:
    assert systemd_text('100% of "$X" \\ é') == '100%% of "$X" \\ é'
    assert systemd_text("") == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb", r"character 2 is U\+000A: text in a systemd unit must be one line"),
        (" a", r"character 1 is U\+0020: systemd strips it"),
        ("a\t", r"character 2 is U\+0009: systemd strips it"),
        ("a\\\\\\", r"character 4 is U\+005C: at the end of a line it continues the line"),
    ],
)
def test_systemd_text_refuses_what_has_no_escape(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        systemd_text(text)


def test_systemd_text_may_end_with_two_backslashes() -> None:
    assert systemd_text("a\\\\") == "a\\\\"


def test_environment_file_escapes_as_a_shell_does() -> None:
    assert environment_file("A", "\\ \" $ ` % '\n#") == 'A="\\\\ \\" \\$ \\` % \'\n#"'


@pytest.mark.parametrize("character", ["a", "é", "😀", "\n"])
def test_a_word_is_as_long_as_linux_allows_and_no_longer(character: str) -> None:
    longest = character * (LONGEST_WORD // len(character.encode()))
    systemd_argument(longest)
    systemd_environment("A", longest[2:])
    environment_file("A", longest[2:])
    json_argument(longest[2:]) if character != "\n" else None
    for encoder in (
        systemd_argument,
        json_argument,
        lambda text: systemd_environment("A", text),
        lambda text: environment_file("A", text),
    ):
        with pytest.raises(ValueError, match="Linux passes at most 131071 in one argument"):
            encoder(longest + character)


def test_linux_has_this_limit() -> None:
    subprocess.run(["true", "a" * LONGEST_WORD], check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(["true", "a" * (LONGEST_WORD + 1)], check=True)


# -- compose --------------------------------------------------------------------------------------


def test_compose_doubles_dollar_signs() -> None:
    assert compose("$A ${B} $$ %") == "$$A $${B} $$$$ %"


def test_compose_tree_encodes_values_and_leaves_keys() -> None:
    tree = {"$k": ["$a", {"b": "$c", "n": 1, "f": 0.5, "t": True, "z": None}], "t": ("$x",)}
    encoded = {"$k": ["$$a", {"b": "$$c", "n": 1, "f": 0.5, "t": True, "z": None}], "t": ["$$x"]}
    assert compose_tree(tree) == encoded
    assert tree["t"] == ("$x",)


def test_compose_tree_refuses_a_character_at_any_depth() -> None:
    with pytest.raises(ValueError, match=r"character 2 is U\+0000"):
        compose_tree({"a": [{"b": "x\x00"}]})


# -- JSON -----------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_reads_back_as_it_was(value: object) -> None:
    word = json_argument(value)  # type: ignore[arg-type]
    assert json.loads(word) == value
    assert "\n" not in word


def test_json_argument_is_compact_and_sorted() -> None:
    assert json_argument({"b": [1, None, True], "a": {"é": "\n"}}) == '{"a":{"é":"\\n"},"b":[1,null,true]}'
    assert json_argument(dict(reversed(SPECULATIVE_CONFIG.items()))) == json_argument(SPECULATIVE_CONFIG)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"a": "\u202e"}, {"\x7f": 1}])
def test_json_argument_refuses_what_json_or_a_file_cannot_carry(value: object) -> None:
    with pytest.raises(ValueError, match=r"not JSON compliant|^character \d"):
        json_argument(value)  # type: ignore[arg-type]


# -- sysctl ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vm.swappiness", "1"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.core.default_qdisc", "fq"),
        ("net/ipv4/conf/enp1s0f1np1.100/rp_filter", "-1"),
    ],
)
def test_sysctl_line(key: str, value: str) -> None:
    assert sysctl_line(key, value) == f"{key} = {value}"


@pytest.mark.parametrize(
    "value",
    ["a # b", "1 ; c", "1#", "", " 1", "1 ", "1  2", "1\n", "1\nvm.swappiness = 2", "a=b", "é", '"1"', "$x"],
)
def test_a_sysctl_value_has_no_comment(value: str) -> None:
    with pytest.raises(ValueError, match=r"is not a value for vm\.swappiness"):
        sysctl_line("vm.swappiness", value)


@pytest.mark.parametrize(
    "key",
    [
        "", "vm", "vm.", ".vm", "-vm.x", "vm..x", "net.ipv4.conf.*.rp_filter", "net/ipv4/../x", "net/./x", "/vm/x",
        "net/ipv4/..", "net.ipv4/conf", "vm swap.x", "vm.x\n", "# vm.x", ";vm.x", "vm.x = 1",
    ],
)  # fmt: skip
def test_a_sysctl_key_is_a_path_of_names(key: str) -> None:
    with pytest.raises(ValueError, match="is not a sysctl"):
        sysctl_line(key, "1")


# -- Markdown -------------------------------------------------------------------------------------


def cells(row: str) -> list[str]:
    """Return the text that a reader sees in each cell of a table's only row."""
    table = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = table.parse(f"| a | b | c |\n|---|---|---|\n{row}\n")
    assert [token.type for token in tokens].count("tr_open") == 2
    inline = [token for token in tokens if token.type == "inline"][3:]
    return ["".join(seen(child.type, child.content) for child in token.children or []) for token in inline]


def seen(kind: str, content: str) -> str:
    assert kind == "text" or (kind, content) == ("html_inline", "<br>")
    return "\n" if kind == "html_inline" else content


def stripped(text: str) -> str:
    """Remove what the edges of a cell and of a line do not show."""
    return "\n".join(line.strip() for line in text.replace("\t", " ").split("\n"))


def test_markdown_cells_show_each_string_as_it_was() -> None:
    for string in corpus():
        row = f"| x | {markdown_cell(string)} | y |"
        assert "\n" not in row
        assert [stripped(cell) for cell in cells(row)] == ["x", stripped(string), "y"], ascii(string[:80])


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("gpu_memory_utilization", "gpu_memory_utilization"),
        ("a|b", r"a\|b"),
        ("`x` <b> & \\", r"\`x\` \<b> \& \\"),
        ("one\ntwo\tthree", "one<br>two three"),
        ("__init__", r"\_\_init\_\_"),
    ],
)
def test_markdown_cell(text: str, cell: str) -> None:
    assert markdown_cell(text) == cell
