"""Command lines as people write them: each oddity by itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.texts import deployment, imported, loaded

NGC = "nvcr.io/nvidia/vllm:26.04-py3"

SERVE = "docker run -d --gpus all -p 8000:8000 -v /srv/models:/models -e HF_HOME=/models nvcr.io/nvidia/vllm:26.04-py3 "
SAME = "--max-model-len 65536 --gpu-memory-utilization 0.85 --max-num-seqs 4 "


def options(words: str) -> dict[str, Any]:
    """Return what the words after the model become, beside the base recipe's own."""
    data = deployment(f"{SERVE} vllm serve example/model {SAME} {words}")
    assert data["recipe"] == "base/single-spark"
    found = data.get("set", {})
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--tensor-parallel-size 2", {"tensor_parallel_size": 2}),
        ("-tp 2", {"tensor_parallel_size": 2}),
        ("--tensor_parallel_size 2", {"tensor_parallel_size": 2}),
        ("--tensor-parallel-size=2", {"tensor_parallel_size": 2}),
        ("--tensor-parallel 2", {"tensor_parallel_size": 2}),
        ("--tp 2", {"tensor_parallel_size": 2}),
        ("--dtype bfloat16 --dtype auto", {"dtype": "auto"}),
        ("--enable-prefix-caching", {"enable_prefix_caching": True}),
        ("--no-enable-prefix-caching", {"enable_prefix_caching": False}),
        ("--enable-prefix-caching=true", {"enable_prefix_caching": True}),
        ("--enable-prefix-caching=false", {"enable_prefix_caching": False}),
        ("--max-num-batched-tokens 8k", {"max_num_batched_tokens": 8000}),
        ("--max-num-batched-tokens 8K", {"max_num_batched_tokens": 8192}),
        ("--cudagraph-capture-sizes 5 10 15 20", {"cudagraph_capture_sizes": (5, 10, 15, 20)}),
        ("""--hf-overrides '{"a": {"b": [1, 2]}}'""", {"hf_overrides": {"a": {"b": (1, 2)}}}),
        ("--default-chat-template-kwargs.thinking=true", {"default_chat_template_kwargs": {"thinking": True}}),
        (
            "--limit-mm-per-prompt.image 2 --limit-mm-per-prompt.video 1",
            {"limit_mm_per_prompt": {"image": 2, "video": 1}},
        ),
        ("""--limit-mm-per-prompt '{“image”: 2}'""", {"limit_mm_per_prompt": {"image": 2}}),
        ("-O3", {}),
        ("--seed 0", {"seed": 0}),
        ("--swap-space 0", {"swap_space": 0}),
        ("--mxfp4-layers moe,qkv --mxfp4-backend CUTLASS", {"mxfp4_backend": "CUTLASS", "mxfp4_layers": "moe,qkv"}),
        ("--fork-sizes 1 2 --fork-on", {"fork_on": True, "fork_sizes": (1, 2)}),
        ("\u2014seed 3", {"seed": 3}),
        ("\u2013seed 3", {"seed": 3}),
    ],
)
def test_an_option_keeps_its_meaning_however_it_is_spelt(words: str, said: dict[str, Any]) -> None:
    found = options(words)
    found.pop("compilation_config", None)
    found.pop("optimization_level", None)
    assert found == said


def test_a_level_of_optimization_is_not_a_word_too_many() -> None:
    assert imported(f"{SERVE} vllm serve example/model -O3").whys("lost") == {}


def test_an_unknown_option_with_a_blank_in_its_value_is_no_model() -> None:
    assert deployment(f"""{SERVE} vllm serve --model a/b --own-sizes='{{"a": 1}}'""")["set"]["own_sizes"] == {"a": 1}


def test_an_option_that_is_given_twice_counts_once_and_is_reported() -> None:
    found = imported(f"{SERVE} vllm serve example/model --seed 1 \\\n --seed 2")
    assert found.entry.data["set"]["seed"] == 2
    assert found.whys("corrected")["--seed"] == "overridden in line 2"


def test_an_abbreviation_is_reported() -> None:
    found = imported(f"{SERVE} vllm serve example/model --gpu-memory-util 0.5")
    assert found.entry.data["set"]["gpu_memory_utilization"] == 0.5
    assert found.whys("corrected")["--gpu-memory-util"] == "is short for --gpu-memory-utilization"


@pytest.mark.parametrize(
    "words",
    [
        """--speculative-config '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":5}'""",
        (
            "--speculative_config.method ngram --speculative_config.num_speculative_tokens 4 "
            "--speculative_config.prompt_lookup_max 5"
        ),
        """--speculative-config={\\"method\\":\\"ngram\\",\\"num_speculative_tokens\\":4,\\"prompt_lookup_max\\":5}""",
    ],
)
def test_speculation_is_typed(words: str) -> None:
    data = deployment(f"{SERVE} vllm serve example/model {words}")
    assert data["speculative"] == {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 5}


def test_speculation_keeps_every_key() -> None:
    found = imported(f"""{SERVE} vllm serve a/b --speculative-config '{{"method":"qwen3_next_mtp","x":1}}'""")
    assert found.entry.data["speculative"] == {"method": "mtp", "x": 1}
    assert found.whys("lost") == {}
    assert found.whys("corrected")["qwen3_next_mtp"] == "vLLM's other name for mtp"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ('{"num_speculative_tokens":2}', ": missing or invalid method"),
        ('{"method":"mtp","num_speculative_tokens":"many"}', ": missing or invalid num_speculative_tokens"),
        ('{"method":"mtp","Key one":2}', ": missing or invalid Key one"),
        ("mtp", ""),
    ],
)
def test_speculation_that_an_inventory_cannot_express_is_lost(value: str, why: str) -> None:
    found = imported(f"{SERVE} vllm serve a/b --speculative-config '{value}'")
    assert "speculative" not in found.entry.data
    assert found.whys("lost") == {"--speculative-config": f"`speculative:` cannot express it{why}"}


def test_two_served_names_are_two() -> None:
    assert deployment(f"{SERVE} vllm serve a/b --served-model-name one two")["served_names"] == ("one", "two")


def test_a_model_behind_options_is_found() -> None:
    assert deployment(f"{SERVE} vllm serve --seed 1 a/b --enable-prefix-caching")["model"] == "a/b"
    assert deployment(f"{SERVE} vllm serve --model a/b")["model"] == "a/b"
    assert deployment(f"{SERVE} python3 -m vllm.entrypoints.openai.api_server --model a/b")["model"] == "a/b"


@pytest.mark.parametrize(
    "wrapped",
    [
        "bash -c 'vllm serve a/b --seed 1'",
        'bash -lc "vllm serve a/b --seed 1"',
        "sh -c 'export NCCL_DEBUG=INFO; exec vllm serve a/b --seed 1'",
        "/bin/bash -c 'set -e\nVLLM_X=1 vllm serve a/b \\\n --seed 1'",
        "bash -c \"bash -c 'vllm serve a/b --seed 1'\"",
        "/opt/nvidia/nvidia_entrypoint.sh vllm serve a/b --seed 1",
        "env A=1 vllm serve a/b --seed 1",
    ],
)
def test_a_server_is_found_behind_shells_and_wrappers(wrapped: str) -> None:
    data = deployment(f"{SERVE} {wrapped}")
    assert data["model"] == "a/b"
    assert data["set"] == {"gpu_memory_utilization": None, "max_model_len": None, "max_num_seqs": None, "seed": 1}


def test_what_a_shell_exports_is_an_environment_variable_and_what_it_installs_a_prelude() -> None:
    data = deployment(f"{SERVE} bash -c 'export NCCL_DEBUG=INFO && pip install x==1 && exec vllm serve a/b'")
    assert data["env"] == {"NCCL_DEBUG": "INFO"}
    assert data["container"] == {"prelude": (("pip", "install", "x==1"),)}


def test_vllm_serve_written_twice_is_reported() -> None:
    found = imported("docker run -p 8000:8000 vllm/vllm-openai:nightly vllm serve a/b")
    assert found.entry.data["model"] == "a/b"
    assert "the image's entrypoint is already `vllm serve`" in found.whys("corrected")["vllm serve"]


def test_words_that_no_option_takes_are_lost_and_the_options_stay() -> None:
    found = imported(f"{SERVE} vllm serve a/b one --enable-prefix-caching two three --seed 1 four")
    assert set(found.whys("lost")) == {"one", "two", "three", "four"}
    assert found.entry.data["set"]["seed"] == 1


def test_an_option_without_its_value_is_lost_and_the_others_stay() -> None:
    found = imported(f"{SERVE} vllm serve a/b --seed 1 --max-model-len")
    assert found.whys("lost") == {"--max-model-len": "its value is missing"}
    assert found.entry.data["set"]["seed"] == 1


def test_a_value_of_the_callers_is_lost_and_no_value_is_made_up() -> None:
    found = imported(f"{SERVE} vllm serve a/b --max-model-len $LENGTH")
    assert found.entry.data["set"]["max_model_len"] is None
    assert found.whys("lost") == {
        "--max-model-len $LENGTH": "the caller's environment sets its value, which is not in this file"
    }


def test_the_host_and_port_of_the_server_are_where_the_inventory_says_them() -> None:
    data = deployment(f"{SERVE.replace('8000:8000', '8001:9000')} vllm serve a/b --host 0.0.0.0 --port 9000")
    assert data["port"] == 8001
    assert not {"host", "port"} & dict(data["set"]).keys()  # type: ignore[call-overload]


def test_the_hosts_network_publishes_the_servers_port() -> None:
    data = deployment("docker run -d --net=host nvcr.io/nvidia/vllm:26.04-py3 vllm serve a/b --port 8888")
    assert data["port"] == 8888


def test_a_group_is_read_from_the_options_of_one_node() -> None:
    words = "--nnodes 2 --node-rank 0 --master-addr 10.0.0.1 -tp 2 --distributed-executor-backend mp"
    found = imported(f"{SERVE} vllm serve a/b {words} {SAME}")
    assert found.entry.nodes == 2
    assert "set" not in found.entry.data
    assert "hosts: [spark-01, spark-02]" in found.text


def test_a_group_that_ray_joins_is_as_large_as_its_parallel_sizes() -> None:
    text = f"{SERVE} bash -c 'ray start --head; vllm serve a/b -tp 2 --distributed-executor-backend ray {SAME}'"
    found = imported(text)
    assert found.entry.nodes == 2
    assert "set" not in found.entry.data
    assert list(found.whys("lost")) == ["ray start --head"]


def test_sglang_and_llama_cpp_are_read_by_their_tables() -> None:
    sglang = "docker run -p 1:30000 x/sglang:1 python3 -m sglang.launch_server --model-path a/b --tp 1 --log-requests"
    assert deployment(sglang)["set"] == {"log_requests": True, "tp_size": 1}
    llama = (
        "docker run -p 8080:8080 -v /data:/models x/llama.cpp:server -m /models/o/m/q.gguf -c 4096 -fa on --no-webui"
    )
    data = deployment(llama)
    assert (data["model"], data["model_path"], data["model_file"]) == ("o/m", "/models/o/m", "q.gguf")
    assert data["set"] == {"ctx_size": 4096, "flash_attn": "on", "webui": False}
    trt = "docker run -p 8000:8000 x/tensorrt-llm:1 trtllm-serve a/b --max_batch_size 4 --tp_size 1"
    assert deployment(trt)["set"] == {"max_batch_size": 4, "tp_size": 1}


def test_a_shell_in_the_container_puts_the_containers_variables_in() -> None:
    inside = "bash -c 'vllm serve $MODEL --api-key $API_KEY'"
    found = imported(f"docker run -p 1:8000 -e MODEL=Qwen/Qwen3-8B -e API_KEY=abcdefgh {NGC} {inside}")
    assert found.entry.data["model"] == "Qwen/Qwen3-8B"
    assert "abcdefgh" not in found.text + found.report


def test_a_client_of_a_server_is_not_a_server() -> None:
    text = "docker run lmsysorg/sglang:latest python3 -m sglang.bench_serving --backend sglang --port 8000"
    assert imported(text).entry.kind == "service"


def test_serve_before_a_model_is_the_servers_word_whatever_the_entrypoint() -> None:
    data = deployment("docker run -p 1:8000 spark-vllm:latest serve Qwen/Qwen3-8B --seed 1")
    assert (data["model"], data["set"]["seed"]) == ("Qwen/Qwen3-8B", 1)


@pytest.mark.parametrize(
    "step",
    ["echo x > /etc/y", "curl x | bash", "pip install x || exit 1", "a $HOSTNAME"],
)
def test_a_step_that_a_shell_puts_together_is_not_a_prelude(step: str) -> None:
    found = imported(f'docker run -p 1:8000 {NGC} bash -c "{step}; vllm serve a/b"')
    prelude = found.entry.data.get("container", {}).get("prelude", ())
    assert prelude in {(), (("pip", "install", "x"),)}
    assert "a step before the server must be a plain program with literal arguments" in found.whys("lost").values()


def test_a_download_in_the_container_is_staged_before() -> None:
    found = imported(f'docker run -p 1:8000 {NGC} bash -c "hf download a/b && vllm serve a/b"')
    assert found.whys("corrected")["hf download a/b"] == "the playbook stages models"
    assert "container" not in found.entry.data


def test_the_node_that_another_one_leads_is_not_a_deployment_of_its_own() -> None:
    line = f"docker run --network host {NGC} vllm serve Qwen/Qwen3-8B --nnodes 2 --node-rank {{}}\n"
    found = imported(line.format(0) + line.format("1 --headless"))
    assert [(each.kind, each.nodes) for each in found.entries] == [("deployment", 2), ("nothing", 0)]


def test_a_server_on_the_hosts_network_that_only_the_host_reaches_stays_so() -> None:
    line = f"docker run {{}} {NGC} vllm serve Qwen/Qwen3-8B --host 127.0.0.1"
    assert deployment(line.format("--network host"))["bind"] == "loopback"
    assert deployment("vllm serve Qwen/Qwen3-8B --host localhost")["bind"] == "loopback"
    assert "bind" not in deployment(line.format("-p 8000:8000"))


def test_the_commit_of_a_model_is_the_locks() -> None:
    found = imported(f"docker run -p 1:8000 {NGC} vllm serve Qwen/Qwen3-8B --revision {'1' * 40}")
    assert loaded(found.text).revisions == {"Qwen/Qwen3-8B": "1" * 40}
    assert "revision" not in found.entry.data.get("set", {})


def test_a_switch_of_llama_cpp_that_has_become_an_option_is_on() -> None:
    text = "docker run -v /srv/m/a:/a -p 1:8080 ghcr.io/ggml-org/llama.cpp:server -m /a/x.gguf -fa -c 4096"
    found = imported(text)
    assert found.entry.data["set"]["flash_attn"] == "on"
    assert found.whys("corrected")["-fa"] == "current releases require a value; read as on"


def test_a_value_of_null_within_json_is_kept_or_means_the_default() -> None:
    line = f"docker run -p 1:8000 {NGC} vllm serve a/b --kv-cache-memory-bytes 2415919104"
    speculative = '{"method": "mtp", "num_speculative_tokens": 2, "moe_backend": null}'
    data = deployment(f"""{line} --hf-overrides '{{"a": null}}' --speculative-config '{speculative}'""")
    assert (data["set"]["hf_overrides"], data["set"]["kv_cache_memory_bytes"]) == ({"a": None}, 2415919104)
    assert data["speculative"] == {"method": "mtp", "num_speculative_tokens": 2}


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("vllm/vllm-openai:v0.20.0-aarch64-cu130", "linear"),
        ("nvcr.io/nvidia/vllm:26.05.post1-py3", "linear"),
        ("vllm/vllm-openai:v0.24.0", "linear_backend"),
        ("vllm/vllm-openai:nightly", "linear_backend"),
        ("example.org/vllm:v0.20.0", "linear_backend"),
    ],
)
def test_a_line_is_read_as_the_release_in_the_tag_reads_it(image: str, name: str) -> None:
    """--linear-backend came with 0.22; an unknown release is taken for the newest."""
    serve = "" if "openai" in image else "vllm serve "
    said = deployment(f"docker run -d -p 8000:8000 {image} {serve}example/model {SAME} --linear marlin")["set"]
    assert {key for key in said if key.startswith("linear")} == {name}
