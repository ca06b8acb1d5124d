"""Inventories that a rule's page has no room for. The guard in test_mutants.py asks for one when it is needed."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import LOCK, ONES, PAIR, deployment, service, webui
from tests.rules.cases_flags import FLAGS
from tests.rules.cases_fleet import FLEET
from tests.rules.cases_hosts import HOSTS
from tests.rules.cases_kernels import KERNELS
from tests.rules.cases_proofs import PROOFS
from tests.rules.cases_releases import RELEASES
from tests.rules.pages import Case

UPSTREAM: Final = f"image: vllm/vllm-openai@{ONES}"


_SPARKS: Final = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
_THIRD: Final = "  spark-03: {address: 192.168.1.13}\n"
_NO_FABRIC: Final = (
    "the fleet timer on spark-03 cannot check big: it listens on the fabric of spark-02, and spark-03 has no fabric"
)


def _timer(host: str) -> str:
    """Write a fleet timer on a host."""
    alerts = "{webhook: {url: 'http://192.168.1.9/hook'}}"
    return f"monitoring: {{timer: {{hosts: {host}}}, alerts: {alerts}}}\n"


def _two(first: str, second: str) -> str:
    """Write two services with these lines in flow style."""
    common = f"kind: container, image: 'example.org/x@{ONES}', hosts: spark-01"
    services = f"services:\n  asr: {{{common}, {first}}}\n  tts: {{{common}, {second}}}\n"
    return f"name: lab\nhosts: {{spark-01: {{address: 192.168.1.11}}}}\n{services}"


def _vllm(*command: str) -> str:
    return service(f"command: [{', '.join(command)}]").replace(f"image: example.org/asr@{ONES}", UPSTREAM)


def _port(columns: str) -> tuple[str, ...]:
    return (f"NET007 5:{columns} port 80 of spark-01 is used twice, by asr and by tts",)


def _beside(port: int) -> str:
    """Write a service beside a node of a group."""
    image = f"image: 'example.org/a@{ONES}'"
    return f"{PAIR}services:\n  asr: {{kind: container, {image}, hosts: spark-02, port: {port}}}\n"


_GATED: Final = "is gated or private: to download it, spark-01 must send a token, and the inventory names none"


def _with_own_file() -> str:
    return deployment('container: {files: {/app/own.py: {url: "hf://example/x/own.py"}}}')


def _locked_file(fact: str) -> str:
    return LOCK + f'files: {{"hf://example/x/own.py": {{sha256: "{"b" * 64}", {fact}}}}}\n'


def _guessing(speculative: str, *lines: str) -> str:
    """Write a deployment of a model that has a drafter, with this method."""
    return deployment(f"speculative: {{{speculative}}}", *lines).replace("example/model", "Qwen/Qwen3.6-35B-A3B")


def _on(recipe: str, *lines: str, options: str = "{}") -> str:
    """Write a deployment of a recipe without an image of its own, with these options."""
    return deployment(f"image: example.org/x@{ONES}", f"set: {options}", *lines).replace("base/single-spark", recipe)


def _of(image: str, recipe: str, *lines: str, options: str = "{}") -> str:
    """Write a deployment of an image of an engine's own."""
    return _on(recipe, *lines, options=options).replace("example.org/x", image)


def _llama(build: str, *lines: str, options: str = "{}") -> str:
    return _of(
        f"ghcr.io/ggml-org/llama.cpp:server{build}", "base/llama-cpp", "model_file: m.gguf", *lines, options=options
    )


def _sglang(release: str, *lines: str, options: str = "{}") -> str:
    return _of(f"lmsysorg/sglang:v{release}", "base/sglang", *lines, options=options)


def _aeon(*lines: str, options: str = "{}") -> str:
    """Write a deployment of AEON-7's image without a key."""
    return _on("aeon-7/dflash-qwen3.5-27b-nvfp4", "api_key: null", *lines, options=options)


ENGINES: Final = [
    Case(service("command: [x]")),
    Case(PAIR),
    Case(deployment("set: {anything: at all}", "served_names: [a, b]", "speculative: {method: ngram}")),
]
"""What no rule about engines speaks of: a service, a group on vLLM, and vLLM with an option of any name."""
GROUP: Final = PAIR.replace("base/single-spark", "base/tensorrt-llm") + f"    image: example.org/x@{ONES}\n"

_NOT_IN: Final = "is not an option of"
_GPU: Final = "it requires compute capability 8 or 9, and the GPU of spark-01 has 12.1"
_COPIES: Final = "spark-01: {address: 192.168.1.11, images_from: spark-02}, spark-02: {address: 192.168.1.12}"
_NGC: Final = "nvcr.io/nvidia/vllm:26.04-py3"
_STALE: Final = f"version: 1\nimages: {{}}\nbuilds: {{engine: {{id: '{ONES}', spec: '{ONES}'}}}}\n"


def _built(*lines: str, run: str) -> str:
    """Write an inventory that runs the build `engine`, which these lines complete."""
    source = ("why: a test", "repository: https://example.org/x", f"commit: '{'1' * 40}'", *lines)
    return f"{run}builds:\n  engine:\n" + "".join(f"    {line}\n" for line in source)


def _asked(first: str, second: str) -> str:
    """Write a front end on spark-03, which has no fabric, and two deployments with these lines in flow style."""
    common = f"recipe: base/single-spark, image: 'nvcr.io/nvidia/vllm@{ONES}', model: example/m, port: 8001"
    link = "fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.11/24}]}"
    hosts = f"spark-01: {{address: 192.168.1.11, {link}}}, " + ", ".join(
        f"spark-0{number}: {{address: 192.168.1.1{number}}}" for number in (2, 3)
    )
    return (
        f"name: lab\ndefaults: {{model_store: /srv/models}}\nhosts: {{{hosts}}}\n"
        f"deployments:\n  one: {{{common}, hosts: spark-01, {first}}}\n  two: {{{common}, hosts: spark-02, {second}}}\n"
        f"services:\n  chat:\n    kind: open-webui\n    image: example.org/webui@{ONES}\n    hosts: spark-03\n"
        "    uses: [one, two]\n"
    )


_TOOLS: Final = "clients: [tools]"
_TOOLLESS: Final = (
    "API001 11:3 big refuses requests with tools from its clients: enable_auto_tool_choice and tool_call_parser not set"
)
_CANNOT: Final = "chat on spark-03 cannot reach"
_ALONE: Final = "only that host can reach it"

CASES: Final[dict[str, list[Case]]] = {
    "OPN001": [
        Case(deployment()),
        Case(
            PAIR.replace("interface: enp1s0f1np1", "interface: placeholder", 1),
            ("OPN001 6:22 link 1 of spark-01 has placeholders: interface",),
        ),
        Case(deployment("image: placeholder.invalid/image"), ("OPN001 10:12 the image of chat is a placeholder",)),
        Case(deployment("container: {files: {/opt/x.py: {url: 'https://example.org/file'}}}")),
        Case(
            deployment("container: {files: {/opt/x.py: {url: 'https://placeholder.invalid/file'}}}"),
            ("OPN001 10:36 the source of /opt/x.py of chat is a placeholder",),
        ),
        Case(
            deployment(f"image: example.org/x@{ONES}", "model_path: /model", "model_file: placeholder.gguf").replace(
                "base/single-spark", "base/llama-cpp"
            ),
            ("OPN001 12:17 the GGUF file of chat is a placeholder",),
        ),
    ],
    "API001": [  # what clients need of a deployment
        Case(deployment()),
        Case(deployment(_TOOLS, "set: {enable_auto_tool_choice: true, tool_call_parser: hermes}")),
        Case(
            deployment(_TOOLS, "set: {tool_call_parser: hermes}"),
            (("API001 5:3 chat refuses requests with tools from its clients: enable_auto_tool_choice not set"),),
        ),
        Case(
            deployment("clients: [messages, responses]", "set: {tool_call_parser: hermes}"),
            (("API001 5:3 chat refuses requests with tools from its clients: enable_auto_tool_choice not set"),),
        ),
        Case(deployment(_TOOLS, f"image: example.org/x@{ONES}").replace("base/single-spark", "base/sglang")),
        Case(
            deployment("set: {enable_auto_tool_choice: true}"),
            ("API001 10:36 chat does not start: enable_auto_tool_choice needs a tool_call_parser",),
        ),
        Case(deployment("set: {tool_call_parser: hermes}")),
        Case(
            deployment("set: {enable_auto_tool_choice: true}", f"image: example.org/x@{ONES}").replace(
                "base/single-spark", "base/sglang"
            )
        ),
        Case(
            PAIR + "    set: {enable_auto_tool_choice: true}\n",
            ("API001 16:36 big does not start: enable_auto_tool_choice needs a tool_call_parser",),
        ),
        Case(
            PAIR + f"    {_TOOLS}\n",
            (_TOOLLESS,),
        ),
    ],
    "NET001": [
        Case(
            webui("urls: ['http://127.0.0.1/v1', 'http://10.127.0.1/v1', 'http://localhost.example.org/v1']"),
            (
                (
                    "NET001 8:12 chat connects to http://127.0.0.1/v1, but inside a container 127.0.0.1 is the "
                    "container itself"
                ),
            ),
        ),
        Case(
            webui("urls: ['http://LOCALHOST:8000/v1/']"),
            (
                (
                    "NET001 8:12 chat connects to http://LOCALHOST:8000/v1, but inside a container localhost is the "
                    "container itself"
                ),
            ),
        ),
        Case(
            webui("urls: ['http://0.0.0.0:8000/v1']"),
            (
                (
                    "NET001 8:12 chat connects to http://0.0.0.0:8000/v1, but inside a container 0.0.0.0 is the "
                    "container itself"
                ),
            ),
        ),
    ],
    "NET005": [
        Case(
            webui("urls: ['http://192.168.1.10/v1/', 'http://192.168.1.10/v12']"),
            ("NET005 8:39 chat connects to http://192.168.1.10/v12, which does not end in /v1",),
        ),
    ],
    "NET101": [
        Case(deployment("set: {host: 0.0.0.0}")),
        Case(
            deployment("set: {host: localhost}"),
            (("NET101 10:17 chat listens on localhost inside its container, where no client can reach it"),),
        ),
        Case(PAIR + "    set: {host: 127.0.0.1}\n"),
    ],
    "NET100": [
        Case(_asked("bind: lan", "bind: any")),
        Case(
            _asked("bind: fabric", "bind: loopback"),
            (
                (
                    f"NET100 12:12 {_CANNOT} one, which listens on 192.168.177.11:8001 of spark-01: "
                    "the two hosts share no fabric"
                ),
                f"NET100 12:17 {_CANNOT} two, which listens on 127.0.0.1:8001 of spark-02: {_ALONE}",
            ),
        ),
    ],
    "ENG001": [
        *ENGINES,
        Case(GROUP),
        Case(
            _on("base/sglang", options="{model_path: /model}"),
            ("ENG001 11:11 model_path of chat cannot be set under `set` for SGLang",),
        ),
        Case(_on("base/llama-cpp", "model_file: m.gguf", options="{ctx_size: 4096, kv_unified: false}")),
        Case(_on("base/tensorrt-llm", options="{max_batch_size: 4}")),
        Case(_aeon(options="{max_num_seqs: 4}")),
        Case(_llama("", options="{draft_max: 8}")),
        Case(
            _llama("-b11434", options="{draft_max: 8}"),
            ("ENG001 11:11 draft_max of chat is not an option of llama.cpp b11434: releases before b9093 have it",),
        ),
        Case(
            _sglang("0.5.23", options="{mamba_scheduler_strategy: auto}"),
            (f"ENG001 11:11 mamba_scheduler_strategy of chat {_NOT_IN} SGLang 0.5.23: 0.5.7 to 0.5.19 have it",),
        ),
        Case(
            _sglang("0.5.23", options="{tp_sise: 1}"),
            ("ENG001 11:11 tp_sise of chat is not an option of SGLang 0.5.23: no known release has it",),
        ),
        Case(
            _aeon(options="{dtype: auto}"),
            ("ENG001 11:11 dtype of chat is not a known option of AEON-7's vLLM",),
        ),
    ],
    "ENG002": [
        *ENGINES,
        Case(_on("base/sglang", options="{tp_size: 1, watchdog_timeout: 300, enable_metrics: false, dtype: auto}")),
        Case(_on("base/sglang", options="{cuda_graph_bs_decode: [1, 2], json_model_override_args: {a: 1}, x: [z]}")),
        Case(_on("base/llama-cpp", "model_file: m.gguf", options="{n_gpu_layers: 99, temp: 0.5, temp_x: true}")),
        Case(
            _on("base/sglang", options="{tp_size: true}"),
            ("ENG002 11:20 tp_size of chat cannot be true in any known release of SGLang",),
        ),
        Case(
            _on("base/sglang", options="{tp_size: two}"),
            ("ENG002 11:20 tp_size of chat cannot be 'two' in any known release of SGLang",),
        ),
        Case(
            _on("base/sglang", options="{enable_metrics: 1}"),
            ("ENG002 11:27 enable_metrics of chat cannot be 1 in any known release of SGLang",),
        ),
        Case(
            _on("base/sglang", options="{dtype: bf16}"),
            ("ENG002 11:18 dtype of chat cannot be 'bf16' in any known release of SGLang",),
        ),
        Case(_aeon(options="{port: 9000}"), ("ENG002 11:17 port of chat cannot be 9000",)),
        Case(_aeon(options="{max_num_seqs: many}"), ("ENG002 11:25 max_num_seqs of chat cannot be 'many'",)),
        Case(
            _sglang("0.5.3", options="{schedule_policy: hrrn}"),
            ("ENG002 11:28 schedule_policy of chat cannot be 'hrrn' in SGLang 0.5.3: 0.5.20 to 0.5.23 have it",),
        ),
        Case(
            _sglang("0.5.23", options="{lora_eviction_policy: none}"),
            ("ENG002 11:33 lora_eviction_policy of chat cannot be 'none' in SGLang 0.5.23",),
        ),
        Case(
            _sglang("0.5.23", options="{tp_size: false}"),
            ("ENG002 11:20 tp_size of chat cannot be false in SGLang 0.5.23",),
        ),
        Case(
            _llama("-b11434", options="{ctx_size: 8k}"),
            ("ENG002 11:21 ctx_size of chat is '8k', of which llama.cpp reads only the number",),
        ),
        Case(
            _llama("-b11434", options="{ctx_size: many}"),
            ("ENG002 11:21 ctx_size of chat cannot be 'many' in llama.cpp b11434",),
        ),
        Case(
            _sglang("0.5.23", options="{tp_size: 8k}"),
            ("ENG002 11:20 tp_size of chat cannot be '8k' in SGLang 0.5.23",),
        ),
    ],
    "ENG004": [
        *ENGINES,
        Case(deployment("api_key: {secret: k}")),
        Case(_on("base/llama-cpp", "model_file: m.gguf", "api_key: {secret: k}")),
        Case(
            _on("base/tensorrt-llm", "api_key: {secret: k}"),
            ("ENG004 12:14 TensorRT-LLM cannot use the API key of chat without exposing it",),
        ),
        Case(
            _on("aeon-7/dflash-qwen3.5-27b-nvfp4", "api_key: {secret: k}"),
            ("ENG004 12:14 AEON-7's vLLM cannot use the API key of chat without exposing it",),
        ),
        Case(_on("base/sglang")),
    ],
    "ENG005": [
        *ENGINES,
        Case(_on("base/sglang")),
        Case(GROUP, (("ENG005 14:12 big spans 2 hosts, but sparkiac writes no groups for TensorRT-LLM yet"),)),
    ],
    "ENG006": [
        *ENGINES,
        Case(_on("base/sglang")),
        Case(_aeon()),
        Case(_on("base/llama-cpp", "model_file: m.gguf", "speculative: {method: mtp}")),
        Case(_sglang("0.5.16", "speculative: {method: dspark, model: e/d}")),
        Case(
            _sglang("0.5.15", "speculative: {method: dspark, model: e/d}"),
            (
                (
                    "ENG006 12:18 chat runs on SGLang 0.5.15, which does not support the method dspark: 0.5.16 to "
                    "0.5.23 have it"
                ),
            ),
        ),
        Case(
            _on("base/sglang", "speculative: {method: ngram, prompt_lookup_max: 4}"),
            ("ENG006 12:34 chat runs on SGLang, which does not support the key prompt_lookup_max of `speculative`",),
        ),
        Case(
            _on("base/tensorrt-llm", "speculative: {method: ngram}"),
            ("ENG006 12:18 chat runs on TensorRT-LLM, which does not support the method ngram",),
        ),
    ],
    "ENG008": [
        *ENGINES,
        Case(_llama("-b11434", options="{flash_attn: 'on'}")),
        Case(_sglang("0.5.23", options="{attention_backend: trtllm_mha}")),
        Case(_on("base/sglang", options="{attention_backend: trtllm_mha}")),
        Case(_on("base/sglang", options="{attention_backend: cutedsl_mla}")),
        Case(
            _on("base/sglang", options="{attention_backend: fa3}"),
            (f"ENG008 11:30 any known release of SGLang refuses attention_backend: fa3 of chat: {_GPU}",),
        ),
    ],
    "ENG009": [
        *ENGINES,
        Case(_sglang("0.5.23", options="{flash_attn: 'off', cache_type_v: q8_0}")),
        Case(_llama("-b11434", options="{flash_attn: false, cache_type_v: q8_0}")),
        Case(_llama("-b11434", options="{flash_attn: 'off', cache_type_v: bf16}")),
        Case(_llama("-b11434", options="{flash_attn: 'off'}")),
    ],
    "ENG007": [
        *ENGINES,
        Case(_on("base/llama-cpp", "model_file: m.gguf", "served_names: [a, b]")),
        Case(_on("base/sglang")),
        Case(
            _aeon("served_names: [a, b]"),
            ("ENG007 13:19 AEON-7's vLLM supports one served name, but chat has 2",),
        ),
    ],
    "CAT001": [
        Case(
            deployment("fragments: [load-guard]"),
            (
                (
                    "CAT001 10:17 chat uses fragment load-guard, which is superseded: the option has had no effect "
                    "since vLLM 0.10 and was removed by PR 35060: current releases reject it"
                ),
            ),
        ),
    ],
    "ENT001": [
        Case(_vllm("example/model", "--port=1", "--dtype=auto", "--host=x")),
        Case(
            _vllm("vllm", "serve", "example/model"),
            (
                "ENT001 9:14 asr would run `vllm serve vllm serve …`: "
                "the entrypoint of vllm/vllm-openai@" + ONES + " is already `vllm serve`",
            ),
        ),
        Case(
            _vllm("vllm", "--version"),
            (
                "ENT001 9:14 asr would run `vllm serve vllm …`: the entrypoint of "
                + UPSTREAM[7:]
                + " is already `vllm serve`",
            ),
        ),
        Case(service("command: [vllm, --version]")),
        Case(deployment()),
        Case(deployment("api_key: {secret: k}").replace("base/single-spark", "google/gemma-4-26b-a4b-it-fp8")),
    ],
    "ENT100": [Case(service("command: [x]"))],
    "SPD002": [
        Case(_guessing("method: ngram", "set: {kv_cache_dtype: fp8}", f"image: vllm/vllm-openai:v0.20.0@{ONES}")),
        Case(_guessing("method: dflash", "set: {kv_cache_dtype: fp8}", "image: example.org/x:1")),
        Case(
            _guessing("method: dflash", "set: {kv_cache_dtype: fp8}", f"image: vllm/vllm-openai:v0.23.0@{ONES}"),
            (
                (
                    "SPD002 11:27 chat drafts with DFlash and sets kv_cache_dtype: fp8: vLLM 0.23.0 refuses the pair, "
                    "unless dflash_config of the drafter has causal: true"
                ),
            ),
        ),
        Case(_guessing("method: dflash", "set: {kv_cache_dtype: fp8}", f"image: vllm/vllm-openai:v0.24.0@{ONES}")),
        Case(_guessing("method: dflash", "set: {kv_cache_dtype: bfloat16}", f"image: vllm/vllm-openai:v0.23.0@{ONES}")),
        Case(_guessing("method: ngram", "set: {kv_cache_dtype: fp8}", f"image: vllm/vllm-openai:v0.23.0@{ONES}")),
        Case(
            _guessing("method: dflash", "env: {VLLM_USE_DEEP_GEMM: 1}", f"image: vllm/vllm-openai:v0.27.0@{ONES}"),
            (
                (
                    "SPD002 11:31 chat drafts with DFlash and does not set VLLM_USE_DEEP_GEMM=0; DeepGEMM crashed on "
                    "sm_121 in builds of vLLM up to August 2026"
                ),
            ),
        ),
        Case(_guessing("method: dflash", "env: {VLLM_USE_DEEP_GEMM: 1}", f"image: vllm/vllm-openai:v0.28.0@{ONES}")),
        Case(_guessing("method: dflash", "set: {kv_cache_dtype: bfloat16}")),
        Case(deployment().replace("base/single-spark", "aeon-7/dflash-qwen3.5-27b-nvfp4")),
    ],
    "SPD010": [
        Case(_guessing("method: ngram, num_speculative_tokens: 8")),
        Case(_guessing("method: mtp")),
    ],
    "IMG003": [
        Case(deployment()),
        Case(
            deployment(),
            ("IMG003 5:3 chat runs nvcr.io/nvidia/vllm:26.04-py3, which the lock does not pin",),
            locked=None,
        ),
        Case(
            deployment("image: example.org/x:1"),
            ("IMG003 10:12 chat runs example.org/x:1, which the lock does not pin",),
        ),
        Case(
            deployment(defaults="{model_store: /srv/models, image: 'example.org/x:1'}"),
            ("IMG003 2:45 chat runs example.org/x:1, which the lock does not pin",),
        ),
        Case(
            _built("base: example.org/base:1", "install: [a]", run=deployment("image: engine")),
            (
                "IMG003 10:12 chat runs engine, which the lock does not pin",
                "IMG003 16:11 the build engine starts from example.org/base:1, which the lock does not pin",
            ),
        ),
        Case(
            _built("program: [a, '{image}']", run=deployment("image: engine")),
            ("IMG003 10:12 chat runs engine, which the lock does not pin",),
        ),
        Case(_built("program: [a, '{image}']", run=deployment("image: engine")), locked=_STALE),
    ],
    "IMG100": [
        Case(
            _built("program: [a, '{image}']", run=deployment("image: engine")),
            ("IMG100 10:12 chat runs engine, built from a former version of its build",),
            locked=_STALE,
        ),
        Case(
            _built("program: [a, '{image}']", run=deployment(defaults="{model_store: /srv/models, image: engine}")),
            ("IMG100 2:45 chat runs engine, built from a former version of its build",),
            locked=_STALE,
        ),
        Case(
            _built("program: [a, '{image}']", run=service().replace(f"example.org/asr@{ONES}", "engine")),
            ("IMG100 7:12 asr runs engine, built from a former version of its build",),
            locked=_STALE,
        ),
    ],
    "IMG101": [
        Case(deployment(), locked=LOCK),
        Case(
            deployment(host=_COPIES, defaults=f"{{model_store: /srv/models, image: '{_NGC}'}}"),
            (f"IMG101 2:45 spark-01 copies {_NGC} from another host, but the lock has no ID for it",),
            locked=LOCK,
        ),
        Case(
            service(host=_COPIES),
            (f"IMG101 7:12 spark-01 copies example.org/asr@{ONES} from another host, but the lock has no ID for it",),
        ),
        Case(_built("program: [a, '{image}']", run=deployment("image: engine", host=_COPIES))),
    ],
    "MON004": [
        Case(service("port: 8765")),
        Case(
            service("port: 8765", "health: /health"),
            ("MON004 1:7 nobody gets a message when one of the fleet's 1 servers fails",),
        ),
        Case(PAIR, ("MON004 1:7 nobody gets a message when one of the fleet's 1 servers fails",)),
        Case(service("port: 8765", "health: /health") + _timer("spark-01")),
        Case(service("port: 8765", "health: /health") + _timer("spark-01").replace("timer:", "prometheus:")),
        Case(
            service("port: 8765", "health: /health") + "monitoring: {prometheus: {hosts: spark-01}}\n",
            ("MON004 1:7 nobody gets a message when one of the fleet's 1 servers fails",),
        ),
        Case(
            service("port: 8765", "health: /health", "bind: loopback", host=_SPARKS) + _timer("spark-02"),
            ("MON004 5:3 the fleet timer on spark-02 cannot check asr: it listens only on loopback of spark-01",),
        ),
        Case(
            PAIR.replace("    port", "    bind: fabric\n    port").replace("deployments", f"{_THIRD}deployments")
            + _timer("spark-03"),
            (f"MON004 12:3 {_NO_FABRIC}",),
        ),
    ],
    "NET007": [
        Case(_two("port: 80", "port: 81")),
        Case(_two("port: 80, bind: loopback", "port: 80, bind: lan")),
        Case(_two("port: 80, bind: loopback", "port: 80, bind: any"), _port("145")),
        Case(_two("port: 80, bind: any", "port: 80, bind: loopback"), _port("145")),
        Case(_two("port: 80, bind: any", "port: 81, bind: any")),
        Case(_two("command: [x]", "port: 80")),
        Case(
            _two("port: 22", "port: 81"),
            ("NET007 4:145 port 22 of spark-01 is used by asr, and by the SSH server of the host",),
        ),
        Case(_two("port: 22", "port: 81").replace("1.11}", "1.11, ssh: {port: 2222}}")),
        Case(
            _two("port: 80", "port: 2222").replace("1.11}", "1.11, ssh: {port: 2222}}"),
            ("NET007 5:145 port 2222 of spark-01 is used by tts, and by the SSH server of the host",),
        ),
        Case(PAIR),
        Case(_beside(29501), ("NET007 17:145 port 29501 of spark-02 is used by asr, and by the nodes of group big",)),
        Case(_beside(29502)),
    ],
    "MDL002": [
        Case(
            _with_own_file(),
            ("MDL002 10:38 hf://example/x/own.py " + _GATED,),
            locked=_locked_file("needs_token: true"),
        ),
        Case(_with_own_file(), locked=_locked_file("")),
    ],
    **FLAGS,
    **KERNELS,
    **PROOFS,
    **RELEASES,
    **FLEET,
    **{code: (*FLEET.get(code, ()), *cases) for code, cases in HOSTS.items()},
}
