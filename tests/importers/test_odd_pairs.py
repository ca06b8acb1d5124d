"""Oddities of files by other hands, two at once: none hides another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.importers.texts import imported, loaded

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN: Final = """\
docker run -d --name llm -p 8001:8000 \\
  -e NCCL_DEBUG=INFO \\
  nvcr.io/nvidia/vllm:26.04-py3 \\
  vllm serve Qwen/Qwen3-8B --max-model-len 4096 \\
  --max-num-seqs 2
"""
_ODD: Final[dict[str, Callable[[str], str]]] = {
    "a typographic dash": lambda text: text.replace("--max-num-seqs 2", "\u2013max-num-seqs 2"),
    "typographic quotes": lambda text: text.replace("NCCL_DEBUG=INFO", "\u201cNCCL_DEBUG=INFO\u201d"),
    "a blank behind a backslash": lambda text: text.replace("py3 \\\n", "py3 \\ \n"),
    "a comment between lines": lambda text: text.replace("\n  -e", "\n  # it's what it logs\n  -e"),
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "an underscored flag": lambda text: text.replace("--max-model-len", "--max_model_len"),
    "a value behind a sign": lambda text: text.replace("len 4096", "len=4096"),
    "a repeated flag": lambda text: text.replace("Qwen3-8B", "Qwen3-8B --max-num-seqs 9"),
    "a number with a letter": lambda text: text.replace("4096", "4.096k"),
    "a default": lambda text: text.replace("Qwen/Qwen3-8B", "${1:-${MODEL:-Qwen/Qwen3-8B}}"),
    "a list": lambda text: (
        "ARGS=(--max-num-seqs\n2) NONE=()\n" + text.replace("--max-num-seqs 2", '"${ARGS[@]}" "${NONE[@]}"')
    ),
    "a condition": lambda text: "if test x; then P=8001; fi\n" + text.replace("8001", "$P"),
    "a function": lambda text: f"start() {{\n{text}}}\nstart\n",
    "another machine": lambda text: f"ssh -t spark-01 <<'ENDS'\n{text}ENDS\n",
    "a script that is written": lambda text: f"cat > start.sh <<'SCRIPT'\n#!/bin/bash\n{text}SCRIPT\n",
}

_AROUND: Final = ("another machine", "a script that is written")
"""What is set outside of another shell is not set within it."""


@pytest.mark.parametrize("one", [name for name in _ODD if name not in _AROUND])
def test_two_oddities_at_once_are_read_as_each_alone(one: str) -> None:
    wanted = imported(_PLAIN).entry.data
    assert (wanted["model"], wanted["port"], wanted["set"]["max_model_len"]) == ("Qwen/Qwen3-8B", 8001, 4096)
    first = _ODD[one](_PLAIN)
    for other in _ODD.keys() - {one}:
        text = _ODD[other](first)
        found = imported(text)
        assert [each.data for each in found.entries if each.kind != "nothing"] == [wanted], (other, text)
        assert [note.what for note in found.notes if note.kind == "lost"] in ([], ["start"]), (other, text)
        loaded(found.text)
