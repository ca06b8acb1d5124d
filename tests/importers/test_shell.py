"""Words of shell texts: as bash has them, and mended where people's pages break them."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.importers import Unreadable
from sparkiac.importers.shell_words import script
from tests.importers.texts import deployment, imported

BEFORE = "set -f; A='x y'; B=z; E=; L=(1 '2 3' \"$B\")\n"
PIECES = st.sampled_from(
    (
        *(
            "a",
            "-x",
            "--y=1",
            " ",
            "  ",
            "\t",
            "\\\n",
            "'a b'",
            '"a b"',
            "'$A'",
            '"$A"',
            "${A}",
            "${B}",
            "${E}",
            '"$E"',
        ),
        *(
            "${U:-d}",
            '"${U:-d e}"',
            "${B:-d}",
            "${E:-d}",
            "${E-d}",
            '"${L[@]}"',
            "\\$A",
            "\\\\",
            '"\\""',
            "'\"'",
            "$'a\\tb'",
        ),
        *('"a\\\nb"', "=", "x=${A}", ":", "{", "}", ",", "1", "%", "@", "\\ ", "''", '""', "a#b", "-", "--", "."),
    )
)


def words(text: str) -> list[str]:
    return list(script(text).commands[-1].words)


@pytest.mark.parametrize(
    "text",
    ["a b", "-e 'x y'", '"a b"c', "a\\\n b", "'' \"\"", "$A", '"$A"', "x$A.y", '"${L[@]}"', "${U:-d}", "$'a\\tb'"],
)
def test_words_are_those_of_bash(text: str) -> None:
    assert words(f"{BEFORE}printf {text}")[1:] == _of_bash(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=9).map("".join))
def test_any_words_are_those_of_bash(text: str) -> None:
    assert words(f"{BEFORE}printf . {text}")[2:] == _of_bash(f". {text}")[1:]


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), min_size=1))
def test_quoted_words_come_back(given_words: list[str]) -> None:
    assert words("run " + shlex.join(given_words))[1:] == given_words


def test_commands_are_cut_where_the_shell_cuts_them() -> None:
    found = script("a b && c; d | e || f &\ng 2>/dev/null >x <y\n(h)\nif i; then j; fi")
    assert [command.words for command in found.commands] == [
        *(("a", "b"), ("c",), ("d",), ("e",), ("f",), ("g",), ("h",), ("i",), ("j",))
    ]


def test_each_word_knows_its_line() -> None:
    (command,) = script("\n# first\nrun a \\\n  'b\nc' \\\n  d\n").commands
    assert command.words == ("run", "a", "b\nc", "d")
    assert command.lines == (3, 3, 4, 6)


def test_typographic_quotes_and_dashes_are_mended_and_told() -> None:
    found = script("run \u2013\u2013x \u201ca b\u201d \u2018c\u2019 \u2014max-len 3 \u2013p 1 \u2013gpus all")
    assert found.commands[0].words == ("run", "--x", "a b", "c", "--max-len", "3", "-p", "1", "--gpus", "all")
    assert {note.kind for note in found.notes} == {"corrected"}
    assert len(found.notes) == 6


def test_a_blank_behind_the_backslash_is_mended_and_told() -> None:
    found = script("run a \\ \n  b")
    assert found.commands[0].words == ("run", "a", "b")
    assert [(note.kind, note.line) for note in found.notes] == [("corrected", 1)]


def test_a_comment_between_continued_lines_is_mended_and_told() -> None:
    found = script("run -a \\\n  # -b \\\n  # more\n  -c\nnext")
    assert [command.words for command in found.commands] == [("run", "-a", "-c"), ("next",)]
    assert [(note.kind, note.line) for note in found.notes] == [("corrected", 2)]


def test_a_placeholder_in_angle_brackets_is_no_redirection() -> None:
    assert words("vllm serve <MODEL HANDLE> --port 1") == ["vllm", "serve", "<MODEL HANDLE>", "--port", "1"]


def test_a_here_document_is_left_out_and_told() -> None:
    found = script("cat > x <<'EOF'\ndocker run 'a\nEOF\nb")
    assert [command.words for command in found.commands] == [("cat",), ("b",)]
    assert "save what it writes as a file" in found.notes[0].why


@pytest.mark.parametrize("text", ["a\n'b", 'a\n"b', "a\n$(b", "a\n${b", "a\nX=(b", "a\n`b", "a\n\x00"])
def test_what_is_not_closed_is_refused_at_its_line(text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        script(text)
    assert refused.value.line == 2


def test_variables_that_grow_without_end_are_refused() -> None:
    with pytest.raises(Unreadable, match="grow"):
        script("A=aaaaaaaaaaaaaaaa\n" + "A=$A$A$A$A\n" * 20)


SCRIPT = """\
#!/bin/bash
set -euo pipefail
# A model.
MODEL="Qwen/Qwen3-8B"
PORT=${1:-8001}
export HF_TOKEN=hf_xxx
EXTRA=(--enable-prefix-caching --max-num-seqs "4")
IMAGE=nvcr.io/nvidia/vllm:26.04-py3
docker pull $IMAGE
docker rm -f my_llm 2>/dev/null || true
mkdir -p logs && ./prepare.sh
exec sudo -E docker run -d --name my_llm \\
  --gpus all -p ${PORT}:8000 -e HF_TOKEN \\
  -v "$HOME/models:/models" -e "HF_HOME=/models" \\
  "$IMAGE" \\
  vllm serve $MODEL "${EXTRA[@]}" --max-model-len ${LEN:-32768}
"""


def test_a_script_is_read_with_its_variables() -> None:
    found = imported(SCRIPT)
    data = found.entry.data
    assert (found.entry.name, data["model"]) == ("my-llm", "Qwen/Qwen3-8B")
    assert data["set"] == {"enable_prefix_caching": True, "gpu_memory_utilization": None, "max_model_len": 32768}
    assert found.whys("lost")["./prepare.sh"] == "another command; nothing of it is taken over"
    assert found.whys("corrected")["docker pull nvcr.io/nvidia/vllm:26.04-py3"].startswith("units and playbooks")


def test_a_model_that_a_script_downloads_into_a_directory_is_known_by_its_handle() -> None:
    text = "hf download Qwen/Qwen3-8B --local-dir ~/m/x\ndocker run -p 1:8000 -v ~/m/x:/model nvcr.io/nvidia/vllm:1 "
    data = deployment(text + "vllm serve /model")
    assert (data["model"], data["model_path"]) == ("Qwen/Qwen3-8B", "/model")


def test_a_server_without_a_container_is_told() -> None:
    found = imported("export NCCL_DEBUG=INFO\nvllm serve a/b --port 8001")
    assert (found.entry.data["model"], found.entry.data["port"]) == ("a/b", 8001)
    assert found.entry.data["env"] == {"NCCL_DEBUG": "INFO"}
    assert found.whys("lost") == {"vllm": "no image is named: sparkiac runs containers"}


def test_a_command_that_ends_by_itself_is_no_service() -> None:
    found = imported("docker run --rm --gpus all nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04 nvidia-smi")
    assert found.entry.kind == "nothing"
    found = imported("docker run --rm vllm/vllm-openai:nightly vllm --version")
    assert found.entry.kind == "nothing"


def test_a_text_without_a_server_is_refused() -> None:
    with pytest.raises(Unreadable, match="no `docker run` and no server"):
        imported("echo hello")


def _of_bash(text: str) -> list[str]:
    ran = subprocess.run(["bash", "-c", f"{BEFORE}printf '%s\\0' {text}"], capture_output=True, check=True)
    return ran.stdout.decode().split("\0")[:-1]
