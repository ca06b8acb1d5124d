"""Recipes of versions 2 and 3, with what is odd in files by other hands: each oddity by itself."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from sparkiac.foreign import eugr, sparkrun
from sparkiac.foreign.launch import EnvVariable, Note, Unreadable
from tests.importers.texts import imported, loaded

if TYPE_CHECKING:
    from sparkiac.foreign.launch import Launch

HEAD = "recipe_version: '2'\nmodel: a/b\nruntime: vllm\ncontainer: c:1\n"
SIMPLE = "command: vllm serve {model} --port 8000\n"


def launch(text: str, *, name: str = "recipes/small.yaml") -> Launch:
    (found,) = sparkrun.read(dedent(text), name=name)
    return found


def notes(found: Launch, kind: str) -> list[tuple[int, str]]:
    return [(note.line, note.what) for note in found.notes if note.kind == kind]


def test_a_plain_recipe_becomes_one_launch_without_notes() -> None:
    found = launch(
        """\
        recipe_version: "2"
        model: a/b
        runtime: vllm
        container: c:1
        min_nodes: 2
        metadata:
          description: a small one
        defaults:
          port: 8000
          tensor_parallel: 2
          speculative_config: '{"method": "mtp", "num_speculative_tokens": 2}'
        env:
          A: "1"
        command: |
          vllm serve {model} \\
            --port {port} \\
            --speculative-config '{speculative_config}' \\
            -tp {tensor_parallel}"""
    )
    speculation = '{"method": "mtp", "num_speculative_tokens": 2}'
    assert found.argv == (
        "vllm", "serve", "a/b", "--port", "8000", "--speculative-config", speculation, "-tp", "2"
    )  # fmt: skip
    assert (found.name, found.description, found.model, found.image) == ("small", "a small one", "a/b", "c:1")
    assert (found.nodes, found.env, found.notes) == (2, (EnvVariable("A", "1", 13),), ())


def test_the_name_is_that_of_the_file() -> None:
    found = launch(f"{HEAD}{SIMPLE}name: Large\n")
    assert (found.name, notes(found, "corrected")) == ("small", [(6, "name: Large")])
    assert launch(f"{HEAD}{SIMPLE}name: Large\n", name="-").name == "Large"


def test_a_recipe_without_a_command_gets_that_of_its_runtime() -> None:
    found = launch(
        HEAD
        + dedent(
            """\
            defaults:
              port: 8000
              tensor_parallel: 2
              served_model_name: b
              enable_prefix_caching: false
              trust_remote_code: true
              enforce_eager: false
              speculative_config: {method: mtp, n: 2}
              max_model_len: auto
              brand_new_knob: 7
            """
        )
    )
    assert found.argv == (
        "vllm", "serve", "a/b", "--port", "8000", "-tp", "2", "--served-model-name", "b", "--no-enable-prefix-caching",
        "--trust-remote-code", "--speculative-config", '{"method":"mtp","n":2}', "--max-model-len", "auto",
    )  # fmt: skip
    assert found.lines[:5] == (2, 2, 2, 6, 6)
    assert (found.nodes, notes(found, "lost")) == (2, [(14, "brand_new_knob: 7")])


@pytest.mark.parametrize(
    ("runtime", "default", "words"),
    [
        ("vllm", "mamba_cache_dtype: float32", ("--mamba-cache-dtype", "float32")),
        ("sglang", "expert_parallel: 2", ("--ep-size", "2")),
        ("sglang", "enable_decoder_swa_bounded_replay: true", ("--enable-decoder-swa-bounded-replay",)),
        ("atlas", "fp8_kv_headroom: 1.2", ("--fp8-kv-headroom", "1.2")),
        ("atlas", "enable_prefix_caching: false", ()),
    ],
)
def test_defaults_that_sparkrun_0_4_2_knows_are_options(runtime: str, default: str, words: tuple[str, ...]) -> None:
    found = launch(f"{HEAD.replace('vllm', runtime)}defaults: {{{default}}}\n")
    assert found.argv[found.argv.index("a/b") + 1 :] == words
    assert notes(found, "lost") == []


def test_atlas_starts_a_recipe_without_a_command() -> None:
    found = launch(
        """\
        recipe_version: "2"
        model: nvidia/Qwen3.6-27B-NVFP4
        runtime: atlas
        container: avarok/atlas-gb10:dev
        max_nodes: 1
        defaults:
          port: 8888
          max_model_len: 32768
          dflash: true
          speculative: false
          disable_tool_grammar: true
          draft_model: z-lab/Qwen3.6-27B-DFlash
          env:
            ATLAS_DFLASH_ADAPTIVE: "1"
        """
    )
    assert found.argv == (
        "spark", "serve", "nvidia/Qwen3.6-27B-NVFP4", "--port", "8888", "--max-seq-len", "32768", "--dflash",
        "--disable-tool-grammar", "true", "--draft-model", "z-lab/Qwen3.6-27B-DFlash",
    )  # fmt: skip
    assert notes(found, "lost") == [(13, "env: ATLAS_DFLASH_ADAPTIVE")]


@pytest.mark.parametrize(
    ("runtime", "argv"),
    [
        ("sglang", "sglang serve --model-path a/b --port 1 --context-length 9 --cuda-graph-bs 1 2 4"),
        ("llama-cpp", "llama-server -hf a/b --split-mode layer --port 1 --ctx-size 9"),
        ("trtllm", "trtllm-serve a/b --backend pytorch --port 1 --max_seq_len 9"),
        ("ds4-cuda", "ds4-serve -m a/b --port 1 -c 9"),
        ("vllm-ray", "vllm serve a/b --port 1 --max-model-len 9"),
    ],
)
def test_each_runtime_names_options_in_its_own_way(runtime: str, argv: str) -> None:
    text = HEAD.replace("runtime: vllm", f"runtime: {runtime}")
    found = launch(f"{text}defaults: {{port: 1, max_model_len: 9, cuda_graph_bs: '1 2 4'}}\n")
    assert found.argv == tuple(argv.split())
    assert ("cuda_graph_bs" in str(found.notes)) is (runtime != "sglang")


def test_llama_cpp_has_switches_that_only_false_writes() -> None:
    text = HEAD.replace("runtime: vllm", "runtime: llama-cpp").replace("a/b", "b.gguf")
    found = launch(f"{text}defaults: {{webui: false, mmap: true, jinja: true, flash_attn: true, ctx_size: 5}}\n")
    assert " ".join(found.argv) == (
        "llama-server -m b.gguf --split-mode layer --no-webui --jinja --flash-attn on --ctx-size 5"
    )


def test_a_runtime_that_nobody_knows_starts_nothing_without_a_command() -> None:
    text = HEAD.replace("runtime: vllm", "runtime: mia-exllamav3-source").replace("container: c:1\n", "")
    found = launch(f"{text}defaults: {{port: 1}}\n")
    assert (found.argv, found.image) == ((), None)
    assert notes(found, "lost") == [(1, "container:"), (3, "runtime: mia-exllamav3-source"), (4, "port: 1")]


def test_a_served_name_that_the_command_lacks_is_added() -> None:
    found = launch(f"{HEAD}{SIMPLE}defaults: {{served_model_name: x}}\n")
    assert found.argv[-2:] == ("--served-model-name", "x")
    assert len(found.lines) == len(found.argv)
    said = launch(f"{HEAD}command: vllm serve a/b --served-model-name=y\ndefaults: {{served_model_name: x}}\n")
    assert said.argv[-1] == "--served-model-name=y"


def test_replicas_that_the_command_lacks_are_added() -> None:
    found = launch(f"{HEAD}{SIMPLE}defaults: {{data_parallel: 2}}\n")
    assert (found.argv[-2:], found.nodes) == (("--data-parallel-size", "2"), 2)


def test_braces_of_version_1_are_understood_in_version_2() -> None:
    command = """command: vllm serve {model} --speculative-config '{{"n":{n}}}'\ndefaults: {n: 3}\n"""
    found = launch(HEAD + command)
    assert (found.argv[-1], found.notes) == ('{"n":3}', ())


def test_doubled_braces_of_a_default_become_single() -> None:
    text = "command: vllm serve a/b --hf-overrides '{o}'\ndefaults: {o: '{{\"a\":{{\"b\":1}}}}'}\n"
    assert launch(HEAD + text).argv[-1] == '{"a":{"b":1}}'


def test_a_default_that_nothing_uses_is_not_a_part_of_the_launch() -> None:
    found = launch(f"{HEAD}{SIMPLE}defaults:\n  pipeline_parallel: 1\n  kv_cache_dtype: fp8\n")
    assert notes(found, "unused") == [(8, "kv_cache_dtype: fp8")]
    assert notes(found, "lost") == []


def test_the_first_words_of_a_command_name_the_runtime() -> None:
    text = HEAD.replace("runtime: vllm\n", "")
    found = launch(
        f"{text}command: python3 -m sglang.launch_server --model-path {{model}}\ndefaults: {{served_model_name: x}}\n"
    )
    assert found.argv[-2:] == ("--served-model-name", "x")
    assert found.notes == ()


def test_ray_of_a_runtime_is_said_in_the_command() -> None:
    text = HEAD.replace("runtime: vllm", "runtime: vllm-ray")
    found = launch(f"{text}command: vllm serve a/b -tp {{tensor_parallel}}\ndefaults: {{tensor_parallel: 2}}\n")
    assert found.argv[-2:] == ("--distributed-executor-backend", "ray")
    assert notes(found, "corrected") == [(3, "runtime: vllm-ray")]
    again = launch(f"{text}command: vllm serve a/b -tp 2 --distributed-executor-backend ray\n")
    assert again.notes == ()


def test_a_backend_of_the_defaults_takes_the_place_of_the_commands() -> None:
    text = "command: vllm serve a/b --distributed-executor-backend ray\ndefaults: {distributed_executor_backend: mp}\n"
    assert launch(HEAD + text).argv[-1] == "mp"


@pytest.mark.parametrize("key", ["solo_only: true", "mode: solo", "max_nodes: 1"])
def test_one_machine_and_several_parts_contradict_each_other(key: str) -> None:
    text = f"{key}\ndefaults: {{tensor_parallel: 4}}\ncommand: vllm serve a/b -tp {{tensor_parallel}}\n"
    found = launch(HEAD + text)
    assert (found.nodes, found.argv[-1]) == (1, "1")
    assert notes(found, "corrected") == [(6, "tensor_parallel: 4")]


@pytest.mark.parametrize(
    ("keys", "nodes", "lost"),
    [
        ("min_nodes: 2\n", 2, []),
        ("cluster_only: true\n", 2, []),
        ("min_nodes: 1\nmax_nodes: 1\n", 1, []),
        ("min_nodes: 2\ndefaults: {ep_size: 2}\n", 2, []),
        ("min_nodes: 3\ndefaults: {tensor_parallel: 2}\n", 2, ["min_nodes: 3"]),
        ("max_nodes: 2\ndefaults: {tensor_parallel: 4}\n", 4, ["max_nodes: 2"]),
        ("mode: cluster\ndefaults: {tensor_parallel: 1}\n", 1, ["mode: cluster"]),
        ("min_nodes: many\n", 1, ["min_nodes: many"]),
        ("mode: sideways\n", 1, ["mode: sideways"]),
    ],
)
def test_the_machines_are_those_of_the_sizes_or_of_the_keys(keys: str, nodes: int, lost: list[str]) -> None:
    text = HEAD.replace("runtime: vllm", "runtime: atlas") if "ep_size" in keys else HEAD + SIMPLE
    found = launch(text + keys)
    assert (found.nodes, [what for _, what in notes(found, "lost")]) == (nodes, lost)


def test_a_command_that_requires_other_machines_than_the_defaults_counts() -> None:
    found = launch(f"{HEAD}command: vllm serve a/b -tp 4\ndefaults: {{tensor_parallel: 2}}\n")
    assert (found.nodes, notes(found, "corrected")) == (4, [(6, "parallel sizes")])


def test_a_range_of_machines_becomes_a_number() -> None:
    found = launch(f"{HEAD}{SIMPLE}max_nodes: 4\ndefaults: {{tensor_parallel: 2}}\n")
    assert (found.nodes, notes(found, "corrected")) == (2, [(6, "max_nodes: 4")])


def test_the_whole_of_version_2_is_understood_or_told() -> None:
    found = launch(
        """\
        recipe_version: "2"
        name: big
        description: >-
          a large
          one
        model: a/b
        model_revision: 53e0082eedebd806b63e19779c47905937d768ca
        runtime: vllm-ray
        runtime_version: k12
        min_nodes: 3
        max_nodes: 3
        container: ghcr.io/x/y@sha256:f8f350d46b33858eda4f0c0a5c39a7f0b27005111d393098baaaacae18c10fdb
        executor_config:
          entrypoint: ""
          privileged: true
          gpus: all
          ipc: host
          shm_size: 10gb
          network: host
          ulimit:
            - memlock=-1
            - stack=67108864
          devices:
            - /dev/infiniband
          restart_policy: unless-stopped
        distribution_config:
          models:
            enabled: true
            entries:
              - name: a/b
                revision: 53e0082eedebd806b63e19779c47905937d768ca
                target: [-1]
              - name: c/draft
                revision: abc
          containers:
            entries:
              - name: "{container}"
        pre_exec:
          - >-
            mkdir -p
            /cache/x
          - copy: /srv/patches
            dest: /workspace/patches
        post_exec:
          - curl -s localhost:8000
        post_commands: ["echo {head_host}"]
        stop_after_post: false
        env:
          NCCL_DEBUG: WARN
        defaults:
          tensor_parallel: 3
        command: >-
          vllm serve
          /cache/hub/models--a--b/snapshots/53e
          --distributed-executor-backend ray
          --tensor-parallel-size {tensor_parallel}
          --compilation-config '{"mode":3,"pass_config":{"fuse":true}}'
        metadata:
          maintainer: me
          model_params: 744B
          notes:
            - one
        """,
        name="big.yaml",
    )
    assert found.argv[-1] == '{"mode":3,"pass_config":{"fuse":true}}'
    assert (found.revision, found.nodes, found.name) == ("53e0082eedebd806b63e19779c47905937d768ca", 3, "big")
    assert found.description == "a large one"
    assert (found.entrypoint, found.devices) == ((), ("/dev/infiniband",))
    assert found.settings == {
        ("container", "ipc"): "host",
        ("container", "shm_size_gib"): 10,
        ("container", "ulimits", "memlock"): -1,
        ("container", "ulimits", "stack"): 67108864,
    }
    assert notes(found, "corrected") == [(6, "model: a/b"), (15, "executor_config: privileged: True")]
    assert notes(found, "unused") == [
        (9, "runtime_version: k12"),
        (58, "metadata: maintainer, model_params, notes"),
    ]
    assert notes(found, "lost") == [
        (33, "models: c/draft@abc"),
        (39, "pre_exec: mkdir -p /cache/x"),
        (42, "pre_exec: copy /srv/patches"),
        (45, "post_exec: curl -s localhost:8000"),
        (46, "post_commands: echo {head_host}"),
    ]


def test_a_server_of_no_engine_here_is_a_service_with_port_and_weights_and_says_what_is_lost() -> None:
    text = HEAD.replace("runtime: vllm", "runtime: atlas") + "defaults: {port: 8888, ep_size: 2}\n"
    found = imported(text, "sparkrun")
    inventory = loaded(found.text)
    service = inventory.services[found.entry.name]
    assert (service.port, service.read_only) == (8888, False)
    assert inventory.defaults.model_store == "/srv/models"
    assert found.entry.data["mounts"] == {
        "/root/.cache/huggingface": {"source": "model_store", "read_only": False},
    }
    assert {"model a/b", "2 machines"} <= found.whys("lost").keys()
    assert "--network host" not in found.whys("lost")


@pytest.mark.parametrize("runtime", ["vllm", "sglang"])
def test_two_served_names_of_a_default_stay_two(runtime: str) -> None:
    command = "python3 -m sglang.launch_server --model-path a/b" if runtime == "sglang" else "vllm serve a/b"
    head = HEAD.replace("runtime: vllm", f"runtime: {runtime}")
    found = launch(f"{head}command: {command}\ndefaults: {{served_model_name: one two}}\n")
    assert found.argv[-3:] == ("--served-model-name", "one", "two")
    assert len(found.lines) == len(found.argv)


def test_a_revision_of_the_distribution_is_the_models() -> None:
    text = "distribution_config: {models: {entries: [{name: '{model}', revision: abc}]}}\n"
    found = launch(HEAD + SIMPLE + text)
    assert (found.revision, found.notes) == ("abc", ())


def test_containers_that_are_started_otherwise_are_reported() -> None:
    text = (
        "executor: k8s\nexecutor_config: {network: bridge, gpus: device=0, shm_size: much, user: root, ipc: private}\n"
    )
    found = launch(HEAD + SIMPLE + text)
    assert (found.host_network, found.settings) == (False, {("container", "ipc"): "private"})
    assert {what for _, what in notes(found, "lost")} == {
        "executor: k8s",
        "executor_config: network: bridge",
        "executor_config: gpus: device=0",
        "executor_config: shm_size: much",
    }
    assert notes(found, "unused") == [(7, "executor_config: user: root")]


def test_a_base_that_is_not_here_is_reported() -> None:
    found = launch("include: qwen-base\ndefaults: {port: 1}\n")
    assert found.model is None
    assert notes(found, "lost")[:2] == [(1, "container:"), (1, "include: qwen-base")]


def test_layers_that_hold_are_applied_and_others_told() -> None:
    found = launch(
        HEAD
        + dedent(
            """\
            defaults: {max_num_seqs: 4, tensor_parallel: 2, speculator: mtp}
            env: {A: "1"}
            command: vllm serve a/b --max-num-seqs {max_num_seqs} -tp {tensor_parallel}
            overrides:
              - when: {nodes: 2, arch: [sm_120, sm_121]}
                defaults: {max_num_seqs: 8}
                env: {B: "2"}
              - when: {nodes: {gte: 4}}
                defaults: {max_num_seqs: 64}
              - when: {config: {speculator: {ne: none}}}
                container: c:2
              - when: {weather: fine}
                container: c:3
              - defaults: {max_num_seqs: 1}
            """
        )
    )
    assert found.argv[3:5] == ("--max-num-seqs", "8")
    assert (found.image, [each.name for each in found.env]) == ("c:2", ["A", "B"])
    assert notes(found, "corrected") == [
        (9, "when: nodes: 2, arch: sm_120, sm_121"),
        (14, "when: config: speculator"),
    ]
    assert [line for line, what in notes(found, "lost") if what.startswith(("when", "overrides"))] == [16, 18]
    assert [line for line, what in notes(found, "unused") if what.startswith("when")] == [12]


def test_keys_that_sparkrun_ignores_are_not_losses() -> None:
    found = launch(
        HEAD
        + SIMPLE
        + dedent(
            """\
            command_mtp: vllm serve x
            variants: {a: 1, b: 2}
            draft_model: z/d
            volumes: [/a:/b]
            patches: [patch_a.py, patch_b.py]
            target_host: spark-01
            lanes:
              - name: one
                requests: 1
            arena_submission_allowed: false
            benchmark: {framework: llama-benchy, pp: [2048]}
            """
        )
    )
    assert notes(found, "lost") == []
    assert notes(found, "unused") == [
        (6, "command_mtp: vllm serve x"),
        (7, "variants: a, b"),
        (8, "draft_model: z/d"),
        (9, "volumes: /a:/b"),
        (10, "patches: patch_a.py, patch_b.py"),
        (11, "target_host: spark-01"),
        (12, "lanes: 1 entries"),
        (15, "arena_submission_allowed: False"),
        (16, "benchmark: framework, pp"),
    ]


def test_a_script_around_the_server_is_taken_apart() -> None:
    found = launch(
        HEAD.replace("runtime: vllm", "runtime: sglang")
        + dedent(
            """\
            defaults: {port: 9000}
            command: |
              : "${SGLANG_API_KEY:?must be set}"
              # Do not "fix" one half of the pair
              FLAG=""
              if python3 -m sglang.launch_server --help 2>&1 | grep -q -- '--enable-cache-report'; then
                FLAG="--enable-cache-report"
              fi

              python3 -m sglang.launch_server \\
                --model-path {model} \\
                --port {port} \\
                --api-key "$SGLANG_API_KEY"
            """
        )
    )
    assert found.argv[:5] == ("python3", "-m", "sglang.launch_server", "--model-path", "a/b")
    assert found.argv[-2:] == ("--api-key", "$SGLANG_API_KEY")
    assert found.lines[0] == 14
    assert not [note for note in found.notes if "{" in note.what and "SGLANG" in note.what and note.kind == "lost"]


def test_a_program_with_a_path_is_the_server() -> None:
    found = launch(f"{HEAD}command: /opt/env/bin/vllm serve {{model}} --port 1\n")
    assert (found.argv[0], found.notes) == ("/opt/env/bin/vllm", ())


def test_variables_stay_as_they_stand() -> None:
    found = launch(f"{HEAD}{SIMPLE}env:\n  HF_TOKEN: ${{HF_TOKEN}}\n  A: $HOME/x\n  B: '{{\"a\": 1}}'\n")
    assert [(each.name, each.value) for each in found.env] == [("HF_TOKEN", None), ("A", "$HOME/x"), ("B", '{"a": 1}')]
    assert notes(found, "corrected") == [(7, "HF_TOKEN: ${HF_TOKEN}"), (8, "A: $HOME/x")]


def test_a_list_of_variables_is_understood_and_reported() -> None:
    found = launch(f"{HEAD}{SIMPLE}env:\n  - A=1\n  - HF_TOKEN\n")
    assert found.env == (EnvVariable("A", "1", 7), EnvVariable("HF_TOKEN", None, 8))
    assert (7, "A: 1") in notes(found, "corrected")


def test_a_recipe_of_version_1_with_keys_of_sparkrun_is_sparkruns() -> None:
    text = "recipe_version: '1'\nmodel: a/b\nruntime: vllm\ncontainer: x\ndefaults: {port: 1}\n"
    assert sparkrun.recognise(text, "x.yaml")
    assert not eugr.recognise(text, "x.yaml")
    assert launch(text).argv == ("vllm", "serve", "a/b", "--port", "1")


@pytest.mark.parametrize(
    "text", ["", "- a\n", "recipe_version: '2'\nruntime: vllm\n", f"{HEAD}command: {{a: b}}\n", f"{HEAD}defaults: 3\n"]
)
def test_what_sparkrun_does_not_read_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        sparkrun.read(text, name="x.yaml")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (HEAD + SIMPLE, True),
        (HEAD, True),
        ("model: a/b\ncontainer: c\ndefaults: {}\n", True),
        ("include: other\n", True),
        ("include:\n  - path: x\nservices: {}\n", False),
        ("services: {}\nmodel: x\nruntime: y\n", False),
        ("name: lab\nhosts: {}\nmodel: x\nruntime: y\n", False),
        ("model: a\n", False),
        ("# model: a/b\n", False),
        ("", False),
    ],
)
def test_only_recipes_are_recognised(text: str, known: bool) -> None:  # noqa: FBT001  a case
    assert sparkrun.recognise(text, "x.yaml") is known


def test_secrets_are_in_no_note() -> None:
    token = "hf_" + "a" * 30
    found = launch(
        f"{HEAD}command: vllm serve a/b\ndefaults: {{api_key: correct-horse}}\nhf_token: {token}\n"
        f"pre_exec: ['export MY_TOKEN={token} && X_PASSWORD=staple x']\nvariants: {{api_key: battery}}\n"
        f"executor_config: {{env_file: {token}}}\nmetadata: {{token: {token}}}\nlist: [{token}]\n{token}: 1\n"
    )
    said = " ".join(note.what + note.why for note in found.notes)
    assert len(found.notes) == 8
    for secret in (token, "staple", "correct-horse", "battery"):
        assert secret not in said


def test_a_note_of_a_kind_says_where() -> None:
    found = launch(f"{HEAD}{SIMPLE}mods: [mods/a]\n")
    why = "a patch that is applied in the container at each start; build it into the image instead"
    assert found.notes == (Note("lost", 6, "mods: mods/a", why),)


def test_a_later_recipe_version_is_read_and_noted() -> None:
    found = launch(HEAD.replace("'2'", "'4'") + SIMPLE)
    assert notes(found, "lost") == [(1, "recipe_version: 4")]


def test_a_command_that_contradicts_one_machine_is_reported() -> None:
    found = launch(f"{HEAD}solo_only: true\ncommand: vllm serve a/b -tp 2\n")
    assert (found.nodes, notes(found, "lost")) == (1, [(5, "solo_only: True")])


def test_distribution_that_is_switched_off_or_unknown_is_reported() -> None:
    text = "distribution_config:\n  containers: {enabled: false}\n  mirrors: {a: 1}\n"
    assert notes(launch(HEAD + SIMPLE + text), "lost") == [(7, "containers: enabled: false"), (8, "mirrors: a")]


def test_layers_with_odd_conditions_are_reported() -> None:
    found = launch(
        HEAD
        + SIMPLE
        + dedent(
            """\
            defaults: {port: 8000, fast: true}
            overrides:
              - when: {vendor: {gt: 3}}
                defaults: {port: 1}
              - when: {config: {fast: 1}}
                defaults: {port: 2}
              - when: {config: {fast: true}, nodes: {in: [1, 2], lt: 2}}
                mods: [mods/a]
            """
        )
    )
    assert notes(found, "corrected") == [(12, "when: config: fast, nodes: in, lt")]
    assert [line for line, _ in notes(found, "unused")] == [6, 6, 8, 10]
    assert [line for line, _ in notes(found, "lost")] == [13]


def test_defaults_without_a_value_are_left_to_the_runtime() -> None:
    found = launch(f"{HEAD}defaults: {{port: null, hf_overrides: '{{\"a\": 1}}', seed: 1}}\n")
    assert found.argv == ("vllm", "serve", "a/b", "--hf-overrides", '{"a": 1}', "--seed", "1")


def test_of_two_names_of_one_option_its_own_counts() -> None:
    text = HEAD.replace("runtime: vllm", "runtime: llama-cpp")
    found = launch(f"{text}defaults: {{max_model_len: 5, ctx_size: 6}}\n")
    assert found.argv[-2:] == ("--ctx-size", "6")
    assert notes(found, "lost") == [(5, "max_model_len: 5")]
