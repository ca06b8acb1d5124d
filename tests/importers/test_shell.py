"""Words of shell texts: as bash has them, and mended where people's pages break them."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.foreign import NothingToImport, Unreadable, recognised, shell
from sparkiac.foreign.shell_words import script
from tests.importers.texts import deployment, imported

BEFORE = "set -f +B; A='x y'; B=z; E=; L=(1 '2 3' \"$B\"); M=()\n"
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
        *("${1:-d}", "${U:-'d e'}", "${U:-${B}}", "${U:-${V:-w}}", '"${U:-}"', "${B:+x y}", '"${B:+x y}"', "${E:+x}"),
        *('"${E:+x}"', '${L[@]+"${L[@]}"}', '${M[@]+"${M[@]}"}', '"${M[@]}"', '"${L[*]}"', "${L}", '"${L}"'),
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


@settings(max_examples=60)
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


def test_typographic_quotes_and_dashes_are_fixed_and_reported() -> None:
    found = script("run \u2013\u2013x \u201ca b\u201d \u2018c\u2019 \u2014max-len 3 \u2013p 1 \u2013gpus all")
    assert found.commands[0].words == ("run", "--x", "a b", "c", "--max-len", "3", "-p", "1", "--gpus", "all")
    assert {note.kind for note in found.notes} == {"corrected"}
    assert len(found.notes) == 6


def test_a_blank_behind_the_backslash_is_fixed_and_reported() -> None:
    found = script("run a \\ \n  b")
    assert found.commands[0].words == ("run", "a", "b")
    assert [(note.kind, note.line) for note in found.notes] == [("corrected", 1)]


def test_a_comment_between_continued_lines_is_fixed_and_reported() -> None:
    found = script("run -a \\\n  # -b \\\n  # more\n  -c\nnext")
    assert [command.words for command in found.commands] == [("run", "-a", "-c"), ("next",)]
    assert [(note.kind, note.line) for note in found.notes] == [("corrected", 2)]


def test_a_placeholder_in_angle_brackets_is_not_a_redirection() -> None:
    assert words("vllm serve <MODEL HANDLE> --port 1") == ["vllm", "serve", "<MODEL HANDLE>", "--port", "1"]


def test_a_here_document_is_not_a_command() -> None:
    found = script("cat > x <<'EOF'\ndocker run 'a\nEOF\nb")
    assert [command.words for command in found.commands] == [("cat",), ("b",)]
    assert [(each.text, each.line, each.opened) for each in found.documents] == [("docker run 'a", 2, 1)]


def test_a_here_document_that_cannot_be_read_is_reported() -> None:
    found = imported("cat > x <<'EOF'\ndocker run 'a\nEOF\ndocker run -p 1:1 x/y")
    assert found.whys("lost") == {"<<": "a here-document is not read; save its text as a file and import that"}


UNIT = """\
#!/bin/bash
IMAGE=nvcr.io/nvidia/vllm:26.04-py3
DATA=$(cat <<'USER'
# it's a comment
cat > /etc/systemd/system/llm.service <<UNIT
[Unit]
Description=A model on $HOSTNAME
[Service]
ExecStart=/usr/bin/docker run -p \\$PORT:8000 --name llm \\
  nvcr.io/nvidia/vllm:26.04-py3 vllm serve Qwen/Qwen3-8B
UNIT
systemctl enable --now llm
USER
)
"""


def test_a_unit_that_a_script_writes_is_read_at_its_lines() -> None:
    found = imported(UNIT)
    assert (found.entry.name, found.entry.data["model"], found.entry.launch.line) == ("llm", "Qwen/Qwen3-8B", 9)
    assert found.whys("lost")["port $PORT:8000"] == "the caller's environment sets its value, which is not in this file"


def test_variables_are_put_into_a_here_document_as_its_delimiter_says() -> None:
    text = "A=1\ncat <<{}\n$A \\$A ${{B}} $1\nEOF\n"
    assert script(text.format("EOF")).documents[0].text == "1 $A ${B} ${1}"
    assert script(text.format("'EOF'")).documents[0].text == "$A \\$A ${B} $1"


@pytest.mark.parametrize(
    "start",
    [
        'bash -c "{}"',
        "sudo sh -ec '{}'",
        'eval "{}"',
        "ssh -p 22 -o A=b user@spark-02 '{}'",
        "ssh spark-02 {}",
        "tmux new-session -d -s llm '{}'",
        "ssh spark-02 bash -s <<'EOF'\n{}\nEOF",
        "cat > start.sh <<'EOF'\n#!/bin/bash\n{}\nEOF",
    ],
)
def test_a_command_within_a_command_is_read(start: str) -> None:
    command = "docker run -d -p 8001:8000 nvcr.io/nvidia/vllm:26.04-py3 vllm serve Qwen/Qwen3-8B"
    data = deployment(start.format(command))
    assert (data["model"], data["port"]) == ("Qwen/Qwen3-8B", 8001)


def test_what_writes_a_here_document_that_is_read_is_not_lost() -> None:
    """Nor is it told of the command that follows."""
    run = "docker run -d -p 800{}:8000 nvcr.io/nvidia/vllm:26.04-py3 vllm serve Qwen/Qwen3-8B"
    text = f"ssh spark-02 <<'EOF'\n{run.format(1)}\nEOF\nmake tea\n{run.format(2)}\n"
    here, there = shell.read(text, name="run.sh")
    assert [(note.line, note.what) for note in here.notes] == [(4, "make tea")]
    assert there.notes == ()


@pytest.mark.parametrize("text", ["eval " * 5000, "ssh a " * 3000, "cat <<E\n" * 5000])
def test_commands_within_commands_come_to_an_end(text: str) -> None:
    with pytest.raises(Unreadable):
        imported(f"{text} vllm serve")


def test_substitutions_within_substitutions_come_to_an_end() -> None:
    with pytest.raises(Unreadable, match="nested more than"):
        script("a " + "$(" * 3000)
    with pytest.raises(Unreadable, match="nested more than"):
        script("a " + "${A:-" * 50 + "}" * 50)


def test_a_server_that_is_started_in_an_idle_container_is_that_containers() -> None:
    found = imported(
        "docker run -d --name node -e A=1 -p 8001:8000 nvcr.io/nvidia/vllm:26.04-py3 sleep infinity\n"
        "docker exec -d -e B=2 node bash -c 'vllm serve Qwen/Qwen3-8B --seed 1'\n"
    )
    assert (found.entry.name, found.entry.data["port"], found.entry.data["set"]["seed"]) == ("node", 8001, 1)
    assert found.entry.data["env"] == {"A": 1, "B": 2}
    assert found.whys("lost") == {}


def test_a_server_that_is_started_in_a_container_of_another_file_is_reported() -> None:
    found = imported("docker exec -it node vllm serve Qwen/Qwen3-8B")
    assert found.whys("lost") == {"exec node": "no image is named; sparkiac runs servers in containers"}


@pytest.mark.parametrize(
    "text",
    [
        'if [ -n "$X" ]; then M=Qwen/Qwen3-4B; else M=Qwen/Qwen3-8B; fi',
        'M=Qwen/Qwen3-4B; [ -n "$X" ] && M=Qwen/Qwen3-8B',
        "M=Qwen/Qwen3-4B; test -f x || M=Qwen/Qwen3-8B",
        "case $1 in\n  a) M=Qwen/Qwen3-4B ;;\n  b) M=Qwen/Qwen3-8B ;;\nesac",
    ],
)
def test_what_a_condition_sets_is_taken_and_reported(text: str) -> None:
    found = imported(f"{text}\ndocker run -p 8001:8000 nvcr.io/nvidia/vllm:26.04-py3 vllm serve $M")
    assert found.entry.data["model"] == "Qwen/Qwen3-8B"
    assert found.whys("corrected")["M="].startswith("a condition sets it, and conditions are not evaluated")
    assert found.whys("lost") == {}


def test_what_is_set_without_a_condition_again_is_not_reported() -> None:
    assert script("if a; then M=1; fi; M=2\nb $M").notes == ()


def test_words_that_stand_for_a_variable_of_the_callers_are_reported() -> None:
    found = script("a ${KEY:+--api-key $KEY} b")
    assert found.commands[0].words == ("a", "b")
    assert [(note.kind, note.what) for note in found.notes] == [("lost", "${KEY:+…}")]


def test_functions_and_patterns_are_not_commands() -> None:
    found = script("f() { a; }\ncase $x in (b) c ;; d|e) g;; esac\nh")
    assert [command.words for command in found.commands] == [
        ("a",),
        ("case", "$x", "in"),
        ("c",),
        ("g",),
        ("h",),
    ]


def test_parameters_of_a_script_are_the_callers() -> None:
    found = imported('docker run --name $2 -p $3:8000 nvcr.io/nvidia/vllm:26.04-py3 vllm serve $1 "$@"')
    assert {"port ${3}:8000", "model ${1}", "${@}"} <= set(found.whys("lost"))


PUBLISHED = "docker run -p 8000:8000 nvcr.io/nvidia/vllm:26.04-py3"


@pytest.mark.parametrize(
    "text",
    [
        f"bash -c '{PUBLISHED} vllm serve \"$@\"' x Qwen/Qwen3-8B --max-model-len 4096",
        f"{PUBLISHED} bash -c 'vllm serve $1 --max-model-len \"$2\"' x Qwen/Qwen3-8B 4096",
        f"A=96 B=4000\nC=$((A + $B))\n{PUBLISHED} vllm serve Qwen/Qwen3-8B --max-model-len $C",
    ],
)
def test_parameters_of_a_text_and_sums_are_known(text: str) -> None:
    found = imported(text)
    assert found.whys("lost") == {}
    assert found.entry.data["set"]["max_model_len"] == 4096


@pytest.mark.parametrize("length", ["$((A + 1))", "$((1 / 0))", "$((08 + 1))"])
def test_a_sum_of_other_terms_is_the_shells(length: str) -> None:
    found = imported(f"{PUBLISHED} vllm serve Qwen/Qwen3-8B --max-model-len {length}")
    assert f"--max-model-len {length}" in found.whys("lost")


def test_what_a_file_sets_that_is_not_here_is_reported() -> None:
    found = imported("source .env\nexport $(grep -v '^#' x | xargs)\n. venv/bin/activate\nvllm serve a/b")
    assert (
        found.whys("lost")["source .env"] == "the variables that this file sets are not imported; give it as --env-file"
    )
    assert found.whys("lost")["export"] == "the variables that this sets are not imported"


def test_a_script_whose_servers_have_no_container_is_recognised() -> None:
    for text in ("trtllm-serve a/b", "A=1 llama-server -m x.gguf", "python3 -m sglang.launch_server --model-path a/b"):
        assert shell.recognise(f"#!/bin/sh\n{text}", "x")
        assert shell.recognise(text, "standard input")
    assert not shell.recognise("a vllm serve", "notes")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a\n  'b", (2, 3)),
        ('a\n "b\n\nc', (2, 2)),
        ("a\nb $(c", (2, 3)),
        ("a\n${b", (2, 1)),
        ("a\n X=(b", (2, 4)),
        ("a\n`b", (2, 1)),
        ('a $(b "c)', (1, 7)),
    ],
)
def test_what_is_not_closed_is_refused_where_it_is_opened(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(Unreadable) as refused:
        script(text, indent=0)
    assert (refused.value.line, refused.value.column) == place
    with pytest.raises(Unreadable) as moved:
        script(text, line=5, indent=2)
    assert (moved.value.line, moved.value.column) == (place[0] + 4, place[1] + 2)


def test_a_character_that_no_file_may_carry_is_refused_at_its_line() -> None:
    with pytest.raises(Unreadable) as refused:
        script("a\n\x00")
    assert refused.value.line == 2


def test_variables_that_grow_without_end_are_refused() -> None:
    with pytest.raises(Unreadable, match="grow"):
        script("A=aaaaaaaaaaaaaaaa\n" + "A=$A$A$A$A\n" * 20)
    with pytest.raises(Unreadable, match="grow"):
        script(f"A={'x' * 100_000}\ncat <<E\n{'$A ' * 20}\nE\n")
    with pytest.raises(Unreadable, match="exported"):
        script("".join(f"export A{number}=1\n" for number in range(300)))


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
    assert found.whys("lost")["./prepare.sh"] == "another command; it is not imported"
    assert found.whys("corrected")["docker pull nvcr.io/nvidia/vllm:26.04-py3"].startswith("units and playbooks")


def test_a_model_that_a_script_downloads_into_a_directory_is_known_by_its_handle() -> None:
    text = "hf download Qwen/Qwen3-8B --local-dir ~/m/x\ndocker run -p 1:8000 -v ~/m/x:/model nvcr.io/nvidia/vllm:1 "
    data = deployment(text + "vllm serve /model")
    assert (data["model"], data["model_path"]) == ("Qwen/Qwen3-8B", "/model")


def test_a_server_without_a_container_is_reported() -> None:
    found = imported("export NCCL_DEBUG=INFO\nvllm serve a/b --port 8001")
    assert (found.entry.data["model"], found.entry.data["port"]) == ("a/b", 8001)
    assert found.entry.data["env"] == {"NCCL_DEBUG": "INFO"}
    assert found.whys("lost") == {"vllm": "no image is named; sparkiac runs servers in containers"}


def test_a_command_that_ends_by_itself_is_not_a_service() -> None:
    found = imported("docker run --rm --gpus all nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04 nvidia-smi")
    assert found.entry.kind == "nothing"
    found = imported("docker run --rm vllm/vllm-openai:nightly vllm --version")
    assert found.entry.kind == "nothing"


def test_a_text_without_a_server_is_refused() -> None:
    with pytest.raises(Unreadable, match="starts no container with `docker run`, and no server"):
        imported("echo hello")


def _of_bash(text: str) -> list[str]:
    ran = subprocess.run(["bash", "-c", f"{BEFORE}printf '%s\\0' {text}"], capture_output=True, check=True)
    return ran.stdout.decode().split("\0")[:-1]


RUN = "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.23.0 --model acme/tiny-7b --max-model-len 4096"


@pytest.mark.parametrize(
    "text",
    [
        f"CID=$({RUN})\ndocker logs -f $CID",
        f'CID="$({RUN})"',
        f"timeout 100 {RUN}",
        f"timeout -k 5 --signal=INT 100s {RUN}",
        f"nice -n 10 sudo -u me {RUN}",
        f'args=({RUN.removeprefix("docker ")})\ndocker "${{args[@]}}"',
        f"DOCKER=docker\n$DOCKER {RUN.removeprefix('docker ')}",
        f"SUDO='sudo docker'\n$SUDO {RUN.removeprefix('docker ')}",
        f"${{DOCKER:-docker}} {RUN.removeprefix('docker ')}",
        "docker compose run --rm -e A=1 -e B=2 -e C=3 --name x gpu vllm serve acme/tiny-7b --max-model-len 4096",
    ],
)
def test_a_launch_is_a_launch_in_whatever_way_the_shell_comes_to_it(text: str) -> None:
    entry = imported(f"#!/bin/sh\n{text}\n").entry
    assert (entry.kind, entry.data["model"], entry.data["set"]["max_model_len"]) == ("deployment", "acme/tiny-7b", 4096)
    assert recognised(f"#!/bin/sh\n{text}\n", "a.sh") == "shell"


@pytest.mark.parametrize(("chosen", "length"), [("mtp", 1), ("dspark", 2), ("other", 2), ("none", 3)])
@pytest.mark.parametrize("setting", ["SPEC={}", "SPEC=${{SPEC:-{}}}"])
def test_of_a_case_the_branch_of_the_value_counts_that_the_file_sets(chosen: str, length: int, setting: str) -> None:
    text = f"""{setting.format(chosen)}
case "$SPEC" in
  mtp) LENGTH=1 ;;
  (dspark | oth*) LENGTH=2 ;;
  *) LENGTH=3 ;;
esac
{RUN.replace("4096", "$LENGTH")}
"""
    found = imported(text)
    assert found.entry.data["set"]["max_model_len"] == length
    assert [what for what in found.whys("corrected") if "LENGTH" in what] == []


def test_of_a_case_over_a_callers_value_the_last_branch_is_used_and_told() -> None:
    found = imported(f"case $1 in a) N=1 ;; b) N=2 ;; esac\n{RUN.replace('4096', '$N')}")
    assert found.entry.data["set"]["max_model_len"] == 2
    assert "the last value is used" in found.whys("corrected")["N="]


@pytest.mark.parametrize(
    "line",
    [
        "sudo mkdir -p /etc/llama-server",
        "pkill -f llama-server",
        "curl -s http://x.example/llama-server",
        "ls -lh build/bin/llama-server build/bin/llama-cli",
        "watch -n 1 llama-server",
        "client --> llama-server --> gpu",
        "llama-server    qwen3-coder-next    up",
        "command -v llama-server",
        "llama-server",
    ],
)
def test_a_word_that_ends_like_a_server_is_none(line: str) -> None:
    with pytest.raises(NothingToImport):
        imported(f"#!/bin/sh\n{line}\n")


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (f"\nif true; then\n{RUN}\n", 2, "`if`"),
        (f"for i in 1; do\n{RUN}\nfi\n", 3, "`fi`"),
        (f"{RUN}\ncase $1 in\na) b ;;\n", 2, "`case`"),
        (f"{RUN}\ndone\n", 2, "`done`"),
    ],
)
def test_a_file_that_its_shell_refuses_is_said_to_be_broken(text: str, line: int, word: str) -> None:
    with pytest.raises(Unreadable, match=f"{word}.*the shell refuses this file") as refused:
        imported(text)
    assert refused.value.line == line
    assert subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False).returncode != 0


def test_options_behind_a_comment_are_named() -> None:
    found = imported(f"{RUN} # --kv-cache-dtype fp8")
    assert found.whys("unused") == {"# --kv-cache-dtype fp8": "a comment: the shell does not read the options in it"}


WRITABLE = "/tmp"  # noqa: S108  a path in a container
HERE = """docker run -p 8000:8000 nvcr.io/nvidia/tensorrt-llm/release:1.3.0 bash -c '
mkdir -p a; cat > {file} <<EOF
{text}
EOF
trtllm-serve a/b --extra_llm_api_options {file}'
"""


def test_a_file_that_the_container_writes_below_tmp_is_written_before_the_server() -> None:
    found = imported(HERE.format(file=f"{WRITABLE}/a.yml", text="kv:\n    share: 0.9\nx: 100%"))
    assert found.entry.data["container"]["prelude"] == (
        ("mkdir", "-p", "a"),
        ("sh", "-c", "printf '%b\\n' 'kv:\\n    share: 0.9\\nx: 100%' > " + WRITABLE + "/a.yml"),
    )
    assert found.whys("lost") == {}


@pytest.mark.parametrize(
    ("file", "text"),
    [("a.yml", "a: 1"), ("/etc/a.yml", "a: 1"), (f"{WRITABLE}/a", "a: $B"), (f"{WRITABLE}/a", "api_key: Xy3456")],
)
def test_no_other_file_and_no_unknown_text_is_written(file: str, text: str) -> None:
    found = imported(HERE.format(file=file, text=text))
    assert {"cat", "<<"} <= found.whys("lost").keys()
    assert "printf" not in found.text


def test_a_placeholder_is_the_value_of_a_variable() -> None:
    found = imported("TAG=<release>\ndocker run -p 8000:8000 vllm/vllm-openai:$TAG --model a/b")
    assert "vllm/vllm-openai:<release>" in str(found.whys("lost"))


def test_words_of_an_option_that_no_release_has_stay_words() -> None:
    found = imported("docker run -p 1:30000 lmsysorg/sglang:spark sglang serve --model-path a/b --adjust-frames False")
    assert found.entry.data["set"]["adjust_frames"] == "False"


def test_a_broken_command_in_a_here_document_refuses_that_document_alone() -> None:
    broken = "cat > a.sh <<'E'\nbash -c \"docker run 'open\"\nE\n"
    found = imported(f"{broken}docker run -p 8000:8000 vllm/vllm-openai:v0.23.0 --model a/b")
    assert found.entry.data["model"] == "a/b"
    assert "<<" in found.whys("lost")


def test_options_of_docker_exec_are_told() -> None:
    text = "docker run -d --name b -p 1:2 acme/vllm:1 sleep 9\ndocker exec -e A --env-file x -it b vllm serve a/b"
    found = imported(text)
    assert {"-e A", "--env-file x"} <= found.whys("lost").keys()
    assert found.entry.data["model"] == "a/b"


@pytest.mark.parametrize("word", ["case x in", "if true; then", "while true; do"])
def test_commands_are_nested_to_a_limit(word: str) -> None:
    """Each command looks at all that are open."""
    with pytest.raises(Unreadable, match="more than 200 commands such as `if` are open"):
        script(f"{word}\n" * 201)
    assert script(f"{word}\n" * 200).commands is not None


def test_a_call_of_a_function_is_not_lost_because_its_commands_are_read() -> None:
    body = "{\n  docker run -p 8000:8000 acme/vllm:1 vllm serve acme/m\n}\n"
    found = imported(f"#!/bin/bash\nfunction log {{\n  echo $1\n}}\nmain () {body}log hello\nmain --now\nother --now\n")
    assert list(found.whys("lost")) == ["other --now"]
    assert [note.what for note in found.notes if note.why.startswith("the commands of a function")] == [
        "log hello",
        "main --now",
    ]
