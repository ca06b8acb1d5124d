"""Cases that tell a broken rule of the memory proof from a right one."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, PAIR, deployment
from tests.rules.pages import Case

_NGC: Final = f"image: 'nvcr.io/nvidia/vllm:26.04-py3@{ONES}'"
_CONFIG: Final = (
    "config: {model_type: qwen3, num_hidden_layers: 36, num_attention_heads: 32, num_key_value_heads: 8, head_dim: 128}"
)
_LEFT: Final = "on spark-01, but only 89.2 GiB are left"
_FLOOR: Final = "earlyoom of spark-01 ends a process below 63.5 GiB of available memory"
_ASSUMED: Final = "as for vLLM 0.33.0: the version in example.org/x:1 is unknown"
_LOCK: Final = f"""\
version: 1
images: {{}}
models:
  example/model: {{commit: "{"1" * 40}", tensor_bytes: 16000000000, {_CONFIG}}}
  example/big: {{commit: "{"1" * 40}", tensor_bytes: 16000000000, {_CONFIG}}}
  example/light: {{commit: "{"1" * 40}", {_CONFIG}}}
  example/strange: {{commit: "{"1" * 40}", tensor_bytes: 1, config: {{model_type: unheard-of}}}}
"""


def _chat(options: str, *lines: str, model: str = "example/model") -> str:
    return deployment(_NGC, f"set: {options}", *lines).replace("example/model", model)


def _with_floor(floor: str) -> str:
    host = f"address: 192.168.1.11, memory: {{total_gib: 64}}, earlyoom_floor_gib: {floor}"
    return f"name: lab\nhosts: {{spark-01: {{{host}}}}}\n"


def _unproven(what: str, line: str = "7:12", name: str = "chat") -> tuple[str, ...]:
    return (f"MEM100 {line} cannot prove that {name} fits on spark-01; unknown: {what}",)


PROOFS: Final[dict[str, list[Case]]] = {
    "MEM100": [
        Case(_chat("{}"), locked=_LOCK),
        Case(_chat("{}", model="example/light"), _unproven("weights"), locked=_LOCK),
        Case(_chat("{}", model="example/strange"), _unproven("the layers of model type unheard-of"), locked=_LOCK),
        Case(
            deployment("image: example.org/x:1"),
            (f"MEM100 10:12 the memory of chat on spark-01 is estimated {_ASSUMED}",),
            locked=_LOCK,
        ),
        Case(PAIR, locked=_LOCK),
    ],
    "MEM101": [
        Case(_chat("{gpu_memory_utilization: 0.12}"), locked=_LOCK),
        Case(_chat("{gpu_memory_utilization: 0.2, max_model_len: 131072}", model="example/light"), locked=_LOCK),
        Case(_chat("{gpu_memory_utilization: 0.2, max_model_len: 131072}", model="example/strange"), locked=_LOCK),
    ],
    "MEM102": [
        Case(_chat("{gpu_memory_utilization: 0.4, max_model_len: 131072, max_num_seqs: null}"), locked=_LOCK),
        Case(_chat("{gpu_memory_utilization: 0.2, max_model_len: 131072, max_num_seqs: 8}"), locked=_LOCK),
        Case(_chat("{max_num_seqs: 8}", model="example/light"), locked=_LOCK),
    ],
    "MEM103": [
        Case(_chat("{gpu_memory_utilization: 0.85}"), locked=_LOCK),
        Case(
            "name: lab\n"
            "platforms: {bare: {title: x, architecture: arm64, gpu: {name: gpu, compute_capability: '12.1'}}}\n"
            "hosts: {spark-01: {address: 192.168.1.11, platform: bare, memory: {reserve_gib: 5}}}\n"
        ),
        Case("name: lab\nhosts: {spark-01: {address: 192.168.1.11, memory: {total_gib: 64, reserve_gib: 64}}}\n"),
    ],
    "MEM104": [
        Case(_chat("{gpu_memory_utilization: 0.2}", "workload: {users: 4, context: 65536}", model="example/light")),
        Case(
            _chat("{gpu_memory_utilization: 0.2}", "workload: {users: 4, context: 65536}", model="example/light"),
            locked=_LOCK,
        ),
        Case(
            _chat("{gpu_memory_utilization: 0.9, max_model_len: 4096}", "workload: {users: 2, context: 8192}"),
            (("MEM104 11:55 the workload of chat has requests of 8192 tokens, but max_model_len is 4096"),),
            locked=_LOCK,
        ),
        Case(
            _chat("{gpu_memory_utilization: 0.9, max_model_len: 131072}", "workload: {users: 99, context: 65536}"),
            (f"MEM104 12:15 the workload of chat, 99 requests of 65536 tokens, needs 891.0 GiB of KV cache {_LEFT}",),
            locked=_LOCK,
        ),
        Case(
            _chat("{gpu_memory_utilization: 0.9, max_model_len: 128k}", "workload: {users: 1, context: 65536}"),
            locked=_LOCK,
        ),
    ],
    "MEM105": [
        Case(_with_floor("63")),
        Case(_with_floor("63.5"), (f"MEM105 2:88 {_FLOOR}, and the plan leaves 64.0 GiB",)),
        Case(
            "name: lab\n"
            "platforms: {bare: {title: x, architecture: arm64, gpu: {name: gpu, compute_capability: '12.1'}}}\n"
            "hosts: {spark-01: {address: 192.168.1.11, platform: bare, earlyoom_floor_gib: 63.5}}\n"
        ),
    ],
}
