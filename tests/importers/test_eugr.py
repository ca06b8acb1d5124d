"""Recipes of version 1, with what is odd in files by other hands: each oddity by itself."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from sparkiac.foreign import eugr, sparkrun
from sparkiac.foreign.launch import EnvVariable, Note, Unreadable

if TYPE_CHECKING:
    from sparkiac.foreign.launch import Launch

HEAD = "recipe_version: '1'\nname: Small\ncontainer: vllm-node\n"
SIMPLE = "command: vllm serve a/b --port 8000\n"


def launch(text: str, *, name: str = "small.yaml") -> Launch:
    (found,) = eugr.read(dedent(text), name=name)
    return found


def notes(found: Launch, kind: str) -> list[tuple[int, str]]:
    return [(note.line, note.what) for note in found.notes if note.kind == kind]


def test_a_plain_recipe_becomes_one_launch_without_notes() -> None:
    found = launch(
        """\
        recipe_version: "1"
        name: Small Model
        description: a small one
        model: a/b
        container: vllm-node
        defaults:
          port: 8000
          gpu_memory_utilization: 0.70
        env:
          VLLM_USE_DEEP_GEMM: 0
        command: |
          vllm serve a/b \\
            --port {port} \\
            --gpu-memory-utilization {gpu_memory_utilization}
        """
    )
    assert found.argv == ("vllm", "serve", "a/b", "--port", "8000", "--gpu-memory-utilization", "0.7")
    assert found.lines == (12, 12, 12, 13, 13, 14, 14)
    assert (found.name, found.description, found.model, found.image) == (
        "Small Model",
        "a small one",
        "a/b",
        "vllm-node",
    )
    assert found.env == (EnvVariable("VLLM_USE_DEEP_GEMM", "0", 10),)
    assert (found.nodes, found.gpus, found.host_network, found.entrypoint) == (1, True, True, ())
    assert found.settings == {("container", "ipc"): "host"}
    assert found.notes == ()


@pytest.mark.parametrize("env", ["env:", "env: null", "env: ~", "env: []", "env: {}", ""])
def test_an_empty_environment_is_none(env: str) -> None:
    found = launch(f"{HEAD}{env}\n{SIMPLE}")
    assert (found.env, found.notes) == ((), ())


def test_a_repeated_key_says_what_its_last_value_says() -> None:
    found = launch(f"container: first\n{HEAD}{SIMPLE}")
    assert found.image == "vllm-node"
    assert notes(found, "corrected") == [(4, "container:")]


def test_json_with_single_braces_is_understood_in_a_recipe_of_version_1() -> None:
    text = """command: vllm serve a/b --speculative-config '{"method":"mtp","n":{n}}'\ndefaults: {n: 3}\n"""
    found = launch(HEAD + text)
    assert found.argv[-1] == '{"method":"mtp","n":3}'
    assert notes(found, "corrected") == [(4, "command:")]


def test_gib_in_the_place_of_a_share_is_reported() -> None:
    text = """\
        command: vllm serve a/b --gpu-memory-utilization-gb {gpu_memory_utilization}
        defaults: {gpu_memory_utilization: 108}
        mods: [mods/gpu-mem-util-gb]
        """
    found = launch(HEAD + dedent(text))
    assert found.argv[-2:] == ("--gpu-memory-utilization-gb", "108")
    assert (5, "gpu_memory_utilization: 108") in notes(found, "lost")


def test_every_spelling_of_a_flag_is_kept() -> None:
    words = (
        "vllm serve a/b -tp 1 --max_num_seqs 4 --x=y -cc.mode 0 --speculative_config.method dspark "
        "--default-chat-template-kwargs.thinking=true --cudagraph-capture-sizes 5 10 15 20 "
        "--served-model-name one two --enable-chunked-prefil --port 1 --port 2"
    )
    assert launch(f"{HEAD}command: {words}\n").argv == tuple(words.split())


@pytest.mark.parametrize(
    "command",
    [
        "command: vllm serve a/b --port 8000",
        "command: >-\n  vllm serve a/b\n  --port 8000",
        "command: |\n  vllm serve a/b \\\n    --port 8000",
        "command: |\n  vllm serve a/b \\ \n    --port 8000",
        "command: |\n  vllm serve a/b --port 8000 \\\n",
        'command: "vllm serve a/b\n  --port 8000"',
        "command: |\n  # a remark that isn't quoted\n  vllm serve a/b --port 8000",
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_every_layout_of_a_command_is_the_same_command(command: str, end: str) -> None:
    assert launch(f"{HEAD}{command}{end}").argv == ("vllm", "serve", "a/b", "--port", "8000")


def test_a_prologue_of_the_shell_is_not_the_server() -> None:
    found = launch(
        HEAD
        + dedent(
            """\
            command: |
              set -e
              export VLLM_HOST_IP=10.0.0.1 PATH=/opt/bin:${PATH:-}
              pip install x
              exec vllm serve a/b --port 8000 --master-addr ${NODE_IP}
            """
        )
    )
    assert found.argv == ("vllm", "serve", "a/b", "--port", "8000", "--master-addr", "${NODE_IP}")
    assert found.prelude == (("pip", "install", "x"),)
    assert found.env[0] == EnvVariable("VLLM_HOST_IP", "10.0.0.1", 8)
    assert (5, "set -e") in notes(found, "corrected")


def test_mods_and_build_arguments_are_lost_one_by_one() -> None:
    found = launch(f"{HEAD}{SIMPLE}mods:\n  - mods/a\n  - mods/b\nbuild_args:\n  - --exp-mxfp4\n")
    assert notes(found, "lost") == [(6, "mods: mods/a"), (7, "mods: mods/b"), (9, "build_args: --exp-mxfp4")]


def test_a_file_that_a_mod_brings_is_required() -> None:
    command = "command: vllm serve a/b --chat-template unsloth.jinja --reasoning-parser-plugin=nano_parser.py\n"
    found = launch(f"{HEAD}mods: [mods/a]\n{command}")
    assert [note.what for note in found.notes if note.kind == "lost"][-2:] == ["nano_parser.py", "unsloth.jinja"]
    assert [note for note in found.notes if note.what == "unsloth.jinja"] == [
        Note(
            "lost",
            5,
            "unsloth.jinja",
            "a mod creates it in the container; add it under container.files of the deployment",
        )
    ]


def test_a_template_of_the_image_is_not_required() -> None:
    assert launch(f"{HEAD}command: vllm serve a/b --chat-template examples/tool_chat_template.jinja\n").notes == ()


def test_a_recipe_for_one_machine_has_one_part() -> None:
    text = "solo_only: true\ndefaults: {tensor_parallel: 2}\ncommand: vllm serve a/b -tp {tensor_parallel}\n"
    found = launch(HEAD + text)
    assert (found.nodes, found.argv[-2:]) == (1, ("-tp", "1"))
    assert notes(found, "corrected") == [(5, "tensor_parallel: 2")]


def test_a_recipe_for_both_is_for_as_many_as_its_command_wants() -> None:
    text = "defaults: {tensor_parallel: 2}\ncommand: vllm serve a/b -tp {tensor_parallel} -pp 3\n"
    found = launch(HEAD + text)
    assert found.nodes == 6
    assert notes(found, "corrected") == [(4, "for 6 machines or for one")]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("solo_only: true\ncommand: vllm serve a/b -tp 2\n", (4, "solo_only: true")),
        ("cluster_only: true\ncommand: vllm serve a/b\n", (4, "cluster_only: true")),
        ("solo_only: true\ncluster_only: true\ncommand: vllm serve a/b\n", (5, "cluster_only: true")),
    ],
)
def test_keys_that_contradict_the_command_are_lost(keys: str, line: tuple[int, str]) -> None:
    found = launch(HEAD + keys)
    assert (found.nodes, notes(found, "lost")) == (1, [line])


def test_the_backend_is_taken_out() -> None:
    found = launch(f"{HEAD}command: vllm serve a/b --distributed-executor-backend ray --port 1\n")
    assert found.argv == ("vllm", "serve", "a/b", "--port", "1")
    assert len(found.lines) == len(found.argv)
    assert notes(found, "corrected") == [(4, "--distributed-executor-backend ray")]


def test_a_length_of_auto_stays_a_word() -> None:
    text = "defaults: {max_model_len: auto}\ncommand: vllm serve a/b --max-model-len {max_model_len}\n"
    assert launch(HEAD + text).argv[-1] == "auto"


def test_variables_are_texts_as_python_writes_them() -> None:
    found = launch(f"{HEAD}{SIMPLE}env:\n  A: 1\n  B: 0.50\n  C: true\n  D: '1'\n")
    assert [(each.name, each.value) for each in found.env] == [("A", "1"), ("B", "0.5"), ("C", "True"), ("D", "1")]


def test_a_value_that_a_shell_puts_together_is_lost() -> None:
    found = launch(f"{HEAD}{SIMPLE}env:\n  PATH: /opt/bin:$PATH\n  HF_HOME: ${{HF_HOME}}\n")
    assert found.env == (EnvVariable("HF_HOME", None, 7),)
    assert notes(found, "lost") == [(6, "PATH: /opt/bin:$PATH")]


def test_quotes_in_a_value_are_kept() -> None:
    found = launch(HEAD + SIMPLE + "env:\n  A: '{\"a\": 1}'\n")
    assert found.env == (EnvVariable("A", '{"a": 1}', 6),)
    assert notes(found, "corrected") == [(6, 'A: {"a": 1}')]


def test_a_variable_without_a_value_is_lost() -> None:
    found = launch(f"{HEAD}{SIMPLE}env:\n  A:\n  B: [1]\n")
    assert (found.env, notes(found, "lost")) == ((), [(6, "A: None"), (7, "B: 1")])


def test_a_default_that_nothing_uses_is_not_a_part_of_the_launch() -> None:
    found = launch(f"{HEAD}{SIMPLE}defaults:\n  data_parallel: 1\n")
    assert notes(found, "unused") == [(6, "data_parallel: 1")]
    assert notes(found, "lost") == []


def test_a_placeholder_without_a_default_is_lost() -> None:
    found = launch(f"{HEAD}command: |\n  vllm serve a/b \\\n    --port {{port}}\n")
    assert notes(found, "lost") == [(6, "{port}")]


def test_a_model_placeholder_is_filled_from_the_model_key() -> None:
    found = launch(f"{HEAD}model: a/b\ncommand: vllm serve {{model}}\n")
    assert found.argv == ("vllm", "serve", "a/b")
    assert notes(found, "corrected") == [(5, "{model}")]


def test_a_command_that_serves_another_model_is_reported() -> None:
    found = launch(f"{HEAD}model: a/b\ncommand: vllm serve /models/b --port 1\n")
    assert (found.model, found.argv[2]) == ("a/b", "/models/b")
    assert notes(found, "corrected") == [(4, "model: a/b")]


def test_keys_that_its_launcher_ignores_are_not_losses() -> None:
    found = launch(f"{HEAD}{SIMPLE}vetted_local_code: ../x\nvariants:\n  a: {{}}\n  b: {{}}\nempty:\n")
    assert notes(found, "lost") == []
    assert notes(found, "unused") == [(5, "vetted_local_code: ../x"), (6, "variants: a, b")]


def test_a_server_that_is_not_a_language_model_is_started_as_it_is() -> None:
    assert launch(f"{HEAD}command: uvicorn server:app --port 8000\n").argv == (
        "uvicorn",
        "server:app",
        "--port",
        "8000",
    )


def test_an_unknown_recipe_version_is_read_and_noted() -> None:
    found = launch(f"recipe_version: '7'\nname: x\ncontainer: y\n{SIMPLE}")
    assert notes(found, "lost") == [(1, "recipe_version: 7")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("- a\n", 1),
        ("a: [\n", 1),
        (HEAD, 1),
        (f"{HEAD}command: [vllm, serve]\n", 4),
        (f"{HEAD}{SIMPLE}defaults: 3\n", 5),
        (f"{HEAD}{SIMPLE}env: 3\n", 5),
        (f"{HEAD}command: vllm serve 'a\n", 4),
        (f"{HEAD}\tx: 1\n", 4),
    ],
)
def test_what_no_launcher_reads_is_unreadable(text: str, line: int) -> None:
    with pytest.raises(Unreadable) as refusal:
        eugr.read(text, name="x.yaml")
    assert refusal.value.line == line


def test_secrets_are_in_the_launch_and_in_no_note() -> None:
    token = "hf_" + "a" * 30
    found = launch(
        f"{HEAD}command: vllm serve a/b --api-key {{api_key}}\ndefaults: {{api_key: correct-horse}}\n"
        f"env:\n  HF_TOKEN: {token}\n  MY_PASSWORD: '\"staple\"'\nhf_token: {token}\nbuild_args: [--token={token}]\n"
    )
    said = " ".join(note.what + note.why for note in found.notes)
    assert found.env[0].value == token
    assert "hf_token" in said
    for secret in (token, "staple", "correct-horse"):
        assert secret not in said


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (HEAD + SIMPLE, True),
        (HEAD.replace("'1'", "1") + SIMPLE, True),
        ("name: x\ncontainer: y\n" + SIMPLE, True),
        (HEAD.replace("'1'", "'2'") + SIMPLE, False),
        (HEAD + SIMPLE + "runtime: vllm\n", False),
        (HEAD + SIMPLE + "metadata: {}\n", False),
        ("services:\n  a:\n    command: x\ncontainer: y\ncommand: z\n", False),
        ("name: lab\nhosts: {}\ndeployments: {}\n", False),
        ("", False),
    ],
)
def test_only_recipes_of_version_1_are_recognised(text: str, known: bool) -> None:  # noqa: FBT001  a case
    assert eugr.recognise(text, "x.yaml") is known
    assert not (known and sparkrun.recognise(text, "x.yaml"))


def test_what_runs_around_the_server_is_reported() -> None:
    found = launch(f"{HEAD}command: cd /x; source /y; sleep 3; vllm serve a/b; touch /done\n")
    assert (found.argv, found.prelude) == (("vllm", "serve", "a/b"), ())
    assert notes(found, "lost") == [(4, "cd /x"), (4, "source /y"), (4, "touch /done")]
    assert notes(found, "corrected") == [(4, "sleep 3")]


def test_a_command_of_remarks_starts_nothing() -> None:
    assert launch(f"{HEAD}command: |\n  # vllm serve a/b\n").argv == ()


def test_a_variable_that_linux_would_not_take_is_lost() -> None:
    found = launch(f"{HEAD}{SIMPLE}env: {{A: {'x' * 132_000}}}\n")
    assert (found.env, notes(found, "lost")) == ((), [(5, "A")])


def test_an_invalid_boolean_is_noted() -> None:
    found = launch(f"{HEAD}{SIMPLE}solo_only: perhaps\n")
    assert notes(found, "lost") == [(5, "solo_only: perhaps")]


def test_a_long_word_is_not_shown_in_part() -> None:
    found = launch(f"{HEAD}{SIMPLE}remark: {'x' * 5_000}\nother: {'y ' * 2_000}\n")
    assert notes(found, "unused")[0] == (5, "remark: …")
    assert len(notes(found, "unused")[1][1]) == 120


def test_parts_of_one_group_in_sglang_are_counted_once() -> None:
    words = "sglang serve --model-path a/b --tp-size 2 --dp-size 2"
    assert launch(f"{HEAD}command: {words}\n").nodes == 4
    assert launch(f"{HEAD}command: {words} --enable-dp-attention\n").nodes == 2
