# ruff: noqa: RUF001 - characters that look like others are here on purpose
"""Strings that break a careless encoder, for the tests that read them back with the real parsers.

Every string here may stand in an inventory: what no file may carry is in REFUSED.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNT = 640
"""How many strings `corpus` has: more than the 500 that each target must carry in every run."""

SPECULATIVE_CONFIG = {
    "method": "mtp",
    "model": 'a "quoted" $MODEL with 100 % and {{ braces }}',
    "num_speculative_tokens": 3,
    "nested": {"ratio": 0.5, "path": "C:\\x", "none": None, "list": [1, True, "é😀"]},
}

_SHELL = (
    "$FOO", "${FOO}", "$$", "$", "$UNSET", "$(id)", "`id`", "${FOO:-x}", "${FOO:?}", "${FOO}$$FOO", "$SP",
    "'$FOO'", '"$FOO"', "~", "~root", "*", "?", "[a-z]", "|", ">", "<", "&", "&&", ";", "\\;", "; ", " ;",
    "a ; b", ";;", "#", "# x", "a # b", " # c", "a#b", "!", "!!", "(", ")", "{a,b}", "-", "--", "-x", "=",
    "A=b", "A='b'", "^", "$'x'", "$1", "$@", "$*", "$?", "${", "$}", "$ {FOO}", "$\\FOO", "\\$FOO",
    "\\\\$FOO", "a\\", "\\", "\\\\", "\\\\\\", "trailing space \\", "line one\\\nline two", "x\\\n", "'",
    "''", '"', '""', "'\"'", "\\'", '\\"', "a'b", 'a"b',
)  # fmt: skip
_SYSTEMD = (
    "%", "%%", "%n", "%i", "%h", "%u", "%Z", "%~", "50%n", "50%Z", "100% off", "100%", "%%n", "%\\n", "$%n",
    "%$FOO", "+x", "-x", "@x", ":x", "!x", "|x", "\\x41", "\\x", "\\u0041", "\\101", "\\s", "\\n", "\\t",
    "\\q", "\nExecStart=/bin/x", "x\nUser=root", "\n[Service]", "root # x", ";comment", "\n;comment",
    "\n#comment", "a=b=c", "a\tb", "\tlead", "trail\t", " lead", "trail ", "  ", " ", "\n", "\n\n", "a\n",
    "\na", "",
)  # fmt: skip
_YAML = (
    "no", "No", "NO", "yes", "on", "off", "y", "n", "true", "True", "false", "null", "Null", "~", "none",
    "None", "010", "08", "0o17", "0x1F", "0b1", "1_000", "1e3", "1e+3", "1.0e3", "1234567e12", "1.10", ".5",
    "5.", ".nan", ".inf", "-.inf", "+1", "-0", "22:22", "12:30:00", "2026-01-01", "2026-01-01T00:00:00Z",
    "=", "<<", "*", "*a", "&a", "&a b", "!", "!!str x", "!unsafe x", "!reset", "!override", "!vault |",
    "a: b", "a:", ": a", "- a", "-", "? a", "[", "]", "{", "}", "{}", "[]", "[a, b]", "{a: b}", ",", "|",
    ">", "|-\n x", "---", "...", "--- x", "%YAML 1.1", "@x", "# x", "x # y", "'x", '"x', "''x", "a'b\"c",
    "null\n", "no\n", "0.1\n", "\\N", "\\_", "\\e", "\\/", "\\U0001F600", "\\ud83d\\ude00",
)  # fmt: skip
_ANSIBLE = (
    "{{ lookup('pipe', 'touch evaluated') }}", "{{ 7 * 7 }}", "{{", "}}", "{{ nope }}",
    "{% if true %}x{% endif %}", "{% raw %}", "{% endraw %}", "{# c #}", "{#", "#}", "{%", "%}",
    "{{ {{ }} }}", "{{ '{{ 7*7 }}' }}", "${{ x }}", "{{ omit }}", "__omit_place_holder__", "['a', 'b']",
    "[1, 2]", '{"a": 1}', "{'a': 1}", "True", "(1, 2)", "1,2", "$ANSIBLE_VAULT;1.1;AES256", "creates=/x",
    "chdir=/", "_raw_params=x", "argv=x", "warn=no", "@file", "a|b", "{{ x | quote }}",
)  # fmt: skip
_PROGRAM = (
    json.dumps(SPECULATIVE_CONFIG), '--speculative-config={"method":"mtp","model":"$X"}',
    '{"method":"mtp"}', '{"a":"\\u00e9\\n"}',
    "--chat-template={% for m in messages %}{{ m['content'] }}{% endfor %}",
    '--override-generation-config={"temperature":0.7}', "http://u:p@h:8000/v1?a=b&c=d#e", "[::1]:8000",
    "a,b,c", "C:\\path\\", "../../etc/passwd", "/etc/x", "%s%d", "%(x)s", "{0}", "{x!r}", "a|b|c", "\\|",
    "<script>alert(1)</script>", "<br>", "&lt;", "&#124;", "[x](javascript:y)", "![x](y)", "*a*", "**a**",
    "_a_", "__init__", "gpu_memory_utilization", "~~x~~", "$x$", "<!-- x -->", "https://example.org",
    "| a |", "|---|", "\\`", "``",
)  # fmt: skip
_UNICODE = (
    "é", "ß", "ÿ", "\u00a0", "\u00ad", "Ā", "\u0130\u0131", "€", "中文", "日本語 テスト", "한국어",
    "עברית", "العربية", "a\u05d0b", "\u200d", "\u200b", "\u200e", "\u200f", "\u3000", "\ufe0f", "\ufffd",
    "\ue000", "\uf8ff", "😀", "👩‍💻", "🏳️‍🌈", "🇩🇪", "e\u0301", "ẞ", "ﬁ", "𝒳", "\U000e0041", "\U0010fffd",
    "$é", "%é", "${É}", "\\é", "é\\", "é\n😀\t$FOO %n", "｛｛ x ｝｝", "＄FOO", "％n", "“quoted”", "…",
    "\u2027", "\u202f", "\u2065",
)  # fmt: skip
_LONG = (
    "a" * 131_000, "$" * 60_000, '"\\' * 30_000, "é" * 50_000, "\n" * 20_000, "😀" * 10_000,
    "a b %n $FOO 'x' {{ y }} " * 2_500, "x" * 4_096, ("x" * 79 + "\n") * 100, " " * 10_000,
    "{{ x }}" * 5_000, "a" * 1_022 + "'", "word " * 20_000,
)  # fmt: skip

VECTORS = tuple(dict.fromkeys([*_SHELL, *_SYSTEMD, *_YAML, *_ANSIBLE, *_PROGRAM, *_UNICODE, *_LONG]))
_FRAGMENTS = (
    *(vector for vector in VECTORS if len(vector) < 80), " ", " ", "\n", "\t", "a", "FOO", "word", "0",
)  # fmt: skip

REFUSED = (
    "\x00", "a\x00b", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\r", "a\r\n", "\x1b[31m", "\x1f", "\x7f",
    "\x80", "\x85", "a\x85b", "\x9f", "\u2028", "a\u2029", "\u202a", "a\u202eb", "\u2066x\u2069", "\ufeff",
    "x\ufeff", "\ud800", "a\udfff", "\ud83d\ude00", "\ufdd0", "\ufdef", "\ufffe", "\uffff", "\U0001fffe",
    "\U0010ffff",
)  # fmt: skip


def corpus(seed: int = 0) -> tuple[str, ...]:
    """Return VECTORS and, up to COUNT, mixtures of them: different ones for each seed."""
    mixture = random.Random(seed)
    strings = dict.fromkeys(VECTORS)
    while len(strings) < COUNT:
        strings["".join(mixture.choices(_FRAGMENTS, k=mixture.randint(2, 9)))] = None
    return tuple(strings)


def different(expected: Sequence[str], got: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first differences, cut short: pytest takes minutes to show those of long strings."""
    assert len(got) == len(expected)
    pairs = [(want[:80], have[:80]) for want, have in zip(expected, got, strict=True) if want != have]
    return pairs[:5]


def texts() -> st.SearchStrategy[str]:
    """Any text that a file may carry: dangerous fragments in any order, and any other characters."""
    fragments = st.lists(st.sampled_from(_FRAGMENTS), max_size=8).map("".join)
    characters = st.characters(
        exclude_categories=("Cc", "Cn", "Cs", "Zl", "Zp"),
        exclude_characters="\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
        include_characters="\n\t",
    )
    any_text = st.text(characters, max_size=40)
    return st.one_of(fragments, any_text, st.tuples(fragments, any_text).map("".join))


def by_name(strings: Sequence[str], prefix: str = "K") -> dict[str, str]:
    """Return the strings by names that are variables in every format."""
    return {f"{prefix}{number:04}": string for number, string in enumerate(strings)}
