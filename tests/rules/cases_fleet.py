"""Cases of the rules about memory, hosts, groups, secrets and monitoring."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, PAIR, deployment, service
from tests.rules.pages import Case
from tests.rules.said_fleet import SAID

QWEN: Final = "RedHatAI/Qwen3.6-35B-A3B-NVFP4"
SUPER: Final = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"
DEEPSEEK: Final = "deepseek-ai/DeepSeek-V4-Flash"
FIXED: Final = f"mods: [{{path: fix-ds4-gpu-cache, repository: 'https://example.org/m', commit: '{'2' * 40}'}}]"
OTHER: Final = (
    "name: lab\ndefaults: {model_store: /srv/models}\n"
    "platforms: {big: {title: Another machine, architecture: arm64, memory_gib: 512, "
    "gpu: {name: Another GPU, compute_capability: '9.0'}}}\n"
    "hosts: {spark-01: {address: 192.168.1.11, platform: big}}\n"
)


WITHOUT_DRIVER: Final = (
    "platforms: {own: {title: Own machine, architecture: arm64, memory_gib: 128, "
    "gpu: {name: GB10, compute_capability: '12.1'}}}\n"
)
TWIN: Final = "twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1"
RING: Final = """\
name: ring
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: p0, address: 192.168.177.11/24}, {interface: p1, address: 192.168.179.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: p0, address: 192.168.177.12/24}, {interface: p1, address: 192.168.178.12/24}]}
  spark-03:
    address: 192.168.1.13
    fabric: {links: [{interface: p0, address: 192.168.178.13/24}, {interface: p1, address: 192.168.179.13/24}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    hosts: [spark-01, spark-02, spark-03]
    set: {pipeline_parallel_size: 3}
    port: 8001
"""
"""Three hosts without a switch."""


TWO: Final = "workload: {users: 2, context: 8192}"


def driver(version: str) -> str:
    """Write a deployment on a host with this driver."""
    return deployment(host=f'spark-01: {{address: 192.168.1.11, driver: "{version}"}}')


def drivers(one: str, other: str) -> str:
    """Write a group whose hosts require these drivers."""
    text = PAIR.replace("address: 192.168.1.11\n", f'address: 192.168.1.11\n    driver: "{one}"\n')
    return text.replace("address: 192.168.1.12\n", f'address: 192.168.1.12\n    driver: "{other}"\n')


def of(model: str, *lines: str) -> str:
    """Write a deployment of a model that the catalog knows."""
    return deployment(*lines).replace("example/model", model)


def elsewhere(*lines: str) -> str:
    """Write a deployment on hardware that the sources do not speak of."""
    return OTHER + "deployments:\n" + deployment(*lines).partition("deployments:\n")[2]


def sizes(first: int, second: int, *lines: str) -> str:
    """Write a group on two machines of these sizes, the second one leading."""
    text = PAIR + "".join(f"    {line}\n" for line in lines)
    for number, size in ((11, first), (12, second)):
        address = f"    address: 192.168.1.{number}\n"
        text = text.replace(address, f"{address}    memory: {{total_gib: {size}}}\n")
    return text


def group(*lines: str) -> str:
    """Write a group with these further lines of it."""
    return PAIR + "".join(f"    {line}\n" for line in lines)


def beside(*lines: str) -> str:
    """Write two deployments on one host, the second one with these further lines."""
    second = ("recipe: base/single-spark", "model: example/small", "hosts: spark-01", "port: 8002", *lines)
    first = deployment("set: {gpu_memory_utilization: 0.7}")
    return first + "  small:\n" + "".join(f"    {line}\n" for line in second)


def built(
    *lines: str, model: str = DEEPSEEK, repository: str = "jasl/vllm", name: str = "engine", extra: str = ""
) -> str:
    """Write a deployment of an image that is built, with these further lines of the build."""
    source = (f"repository: 'https://github.com/{repository}.git'", f"commit: '{'1' * 40}'", "install: [pip]")
    source = (*source, "why: a test", f"base: example.org/base@{ONES}", *lines)
    text = of(model, f"image: {name}", *([extra] if extra else []))
    return f"{text}builds:\n  {name}:\n" + "".join(f"    {line}\n" for line in source)


def image(reference: str, *lines: str) -> str:
    """Write a deployment of this image."""
    return deployment(f"image: {reference}@{ONES}", *lines)


AEON: Final = deployment("api_key: null").replace("base/single-spark", "aeon-7/dflash-qwen3.5-27b-nvfp4")
OLLAMA: Final = f"services:\n  a: {{kind: ollama, hosts: spark-01, image: x@{ONES}}}\n"
PINNED: Final = "pip: ['nvidia-cutlass-dsl[cu13]==4.5.0']"
LINK: Final = "ln, -sf, /usr/local/cuda/bin/ptxas, /x"
NGC: Final = "nvcr.io/nvidia/vllm:26.04-py3"
NIGHTLY: Final = "vllm/vllm-openai:nightly"
ROCE: Final = ("NCCL_IB_GID_INDEX: 3", "NCCL_NET_PLUGIN: none", "NCCL_IB_ROCE_VERSION_NUM: 2", "NCCL_IB_TIMEOUT: 22")
ROUNDS: Final = f"env: {{NCCL_IB_DISABLE: 0, {', '.join(ROCE)}}}"
OFF: Final = f"env: {{NCCL_IB_DISABLE: 1, {', '.join(ROCE)}}}"
FLASH: Final = PAIR.replace("base/single-spark", "deepseek-ai/deepseek-v4-flash").replace(
    "    model: example/big\n", ""
)
BUILDS: Final = (
    f"builds:\n  vllm-node-dsv4:\n    commit: '{'1' * 40}'\n    pull_requests:\n      - number: 41834\n"
    f"        repository: 'https://github.com/vllm-project/vllm.git'\n        commit: '{'2' * 40}'\n"
)
LOOSE: Final = "set: {trust_remote_code: true}"
DIRECT: Final = "fabric: {links: [{interface: enp1s0f1np1, address: 10.0.0.1/24}]}"


def prelude(command: str) -> str:
    """Write a deployment with one command before the server."""
    return deployment(f"container: {{prelude: [[{command}]]}}")


def of_sglang(*lines: str) -> str:
    """Write a deployment on SGLang."""
    return deployment(f"image: lmsysorg/sglang:v0.5.23@{ONES}", *lines).replace("base/single-spark", "base/sglang")


_TEXTS: Final[dict[str, list[str]]] = {
    "DRV100": [
        driver("590"),
        driver("595.71.05"),
        driver("5901"),
        driver("590").partition("deployments:")[0],
        deployment(),
    ],
    "MEM001": [
        deployment("set: {gpu_memory_utilization: 0.9}"),
        deployment("set: {gpu_memory_utilization: 0.91}"),
        deployment("set: {gpu_memory_utilization: null}"),
        image("vllm/vllm-openai:v0.20.0", "set: {gpu_memory_utilization: null}"),
        image("example.org/x", "set: {gpu_memory_utilization: null}"),
        deployment("set: {gpu_memory_utilization: 0.95, kv_cache_memory_bytes: 8000000000}"),
        deployment("set: {gpu_memory_utilization: 0.95}").replace("8.1.11}", "8.1.11, memory: {reserve_gib: 4}}"),
        deployment("set: {gpu_memory_utilization: null, max_num_seqs: none}"),
        elsewhere("set: {gpu_memory_utilization: 0.95}"),
        service("command: [x]"),
        group("set: {gpu_memory_utilization: 0.93}"),
        of_sglang("set: {mem_fraction_static: 0.74}"),
        of_sglang("set: {mem_fraction_static: 0.75}"),
    ],
    "MEM003": [
        of(QWEN, "set: {gpu_memory_utilization: null}"),
        deployment("set: {gpu_memory_utilization: 0.01}").replace("example/model", "example/unsized"),
        elsewhere("set: {gpu_memory_utilization: 0.01}"),
        of(QWEN, "set: {gpu_memory_utilization: 0.2}").replace("8.1.11}", "8.1.11, memory: {total_gib: 121}}"),
        group("set: {gpu_memory_utilization: 0.15}").replace("example/big", QWEN),
        group("set: {gpu_memory_utilization: 0.1}").replace("example/big", QWEN),
        of(DEEPSEEK, f"image: {NIGHTLY}@{ONES}"),
        of(SUPER, "set: {gpu_memory_utilization: 0.1}"),
        service("command: [x]"),
    ],
    "MEM006": [
        of(QWEN, "set: {max_num_seqs: 3}"),
        of(QWEN, "set: {max_num_seqs: null}"),
        of(QWEN, "set: {max_num_seqs: 1}"),
        of(QWEN, "set: {max_num_seqs: 2, gpu_memory_utilization: 0.84}"),
        of(QWEN, "set: {max_num_seqs: 2, gpu_memory_utilization: null}"),
        of(QWEN, "set: {max_num_seqs: 2, kv_cache_memory_bytes: 8G}"),
        deployment("set: {max_num_seqs: 2}"),
        of("Qwen/Qwen3-Coder-Next-FP8", "set: {max_num_seqs: 2}"),
        group("set: {max_num_seqs: 2}").replace("example/big", QWEN),
    ],
    "MEM010": [  # one primary model on each machine
        beside("set: {gpu_memory_utilization: 0.2}"),
        beside("set: {gpu_memory_utilization: 0.3}"),
        beside("set: {gpu_memory_utilization: null}"),
        beside("set: {kv_cache_memory_bytes: 8G, gpu_memory_utilization: null}"),
        beside("set: {kv_cache_memory_bytes: 8G, gpu_memory_utilization: null}").replace(
            "{gpu_memory_utilization: 0.7}", "{kv_cache_memory_bytes: 8G, gpu_memory_utilization: null}"
        ),
        deployment().replace(
            "deployments:", "services:\n  a: {kind: ollama, hosts: spark-01, image: x@" + ONES + "}\ndeployments:"
        ),
    ],
    "MEM016": [
        sizes(121, 119),
        sizes(119, 121, "per_host: {spark-01: {set: {gpu_memory_utilization: 0.85}}}"),
        sizes(119, 119, "per_host: {spark-01: {set: {gpu_memory_utilization: 0.87}}}"),
        sizes(119, 121, "per_host: {spark-02: {set: {gpu_memory_utilization: 0.87}}}"),
        PAIR,
        deployment(),
    ],
    "HST005": [
        deployment("container: {mounts: {/models: null, /root/.cache: {source: model_store}}}", "env: {HF_HOME: null}"),
        deployment("env: {HF_HOME: null}"),
        deployment("container: {mounts: {/models: null, /models/hub: {source: /srv/hub}}}"),
        deployment("container: {mounts: {/models: null, /models2: {source: /srv/hub}}}"),
        deployment("model_path: /model", "container: {mounts: {/models: null}}"),
        elsewhere("container: {mounts: {/models: null}}"),
        service("command: [x]"),
    ],
    "HST007": [
        deployment("set: {tokenizer: /models/tokenizer}"),
        deployment("set: {hf_config_path: example/other}"),
        deployment("set: {hf_config_path: example/model}"),
    ],
    "HST008": [
        of("AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4", "model_path: /model"),
        of("AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4"),
        of("Qwen/Qwen3-Coder-Next-FP8"),
        deployment(),
    ],
    "HST012": [
        deployment("container: {ipc: host}"),
        deployment(f"image: x@{ONES}", "model_file: m.gguf").replace("base/single-spark", "base/llama-cpp"),
        deployment(f"image: x@{ONES}", "container: {shm_size_gib: null}").replace("base/single-spark", "base/sglang"),
        deployment("container: {ipc: private}"),
        deployment(),
    ],
    "HST013": [PAIR.replace("hca: rocep1s0f1, ", ""), group("container: {ulimits: {memlock: 1024}}"), deployment()],
    "MN002": [
        PAIR.replace("hca: rocep1s0f1, ", "", 1),
        group("env: {NCCL_IB_HCA: x}").replace("hca: rocep1s0f1, ", ""),
    ],
    "MN003": [
        PAIR.replace("hca: rocep1s0f1, ", ""),
        group("env: {NCCL_IB_DISABLE: 0}"),
        group(OFF),
        FLASH + BUILDS,
        FLASH + "    env: {NCCL_IB_DISABLE: 1}\n" + BUILDS,
        group("env: {NCCL_IB_GID_INDEX: 3}"),
        group("env: {NCCL_IB_GID_INDEX: 3}").replace("hca: rocep1s0f1, ", ""),
        group("env: {NCCL_IB_GID_INDEX: 3, NCCL_IB_DISABLE: 1}"),
        deployment("env: {NCCL_IB_GID_INDEX: 3}"),
    ],
    "VAL012": [
        group("env: {NCCL_IB_HCA: rocep1}"),
        group("env: {NCCL_IB_HCA: 'mlx5_0,rocep1s0f1:1'}"),
        group("env: {NCCL_IB_HCA: '=rocep1s0f1'}"),
        group("env: {NCCL_IB_HCA: '=rocep1'}"),
        group("env: {NCCL_IB_HCA: '^mlx5_0'}"),
        group("env: {NCCL_IB_HCA: roceP2p1s0f1}"),
        group("env: {NCCL_IB_HCA: rocep1s0f1}").replace("hca: rocep1s0f1", "hca: roceP2p1s0f1"),
        group("env: {NCCL_IB_HCA: mlx5_0}").replace("hca: rocep1s0f1, ", ""),
        group("env: {NCCL_IB_HCA: mlx5_0}").replace("hca: rocep1s0f1", "hca: placeholder"),
        deployment("env: {NCCL_IB_HCA: mlx5_0}"),
        PAIR,
    ],
    "MN004": [
        group("env: {NCCL_SOCKET_IFNAME: '^docker', GLOO_SOCKET_IFNAME: enp1s0f1np1}"),
        group("env: {NCCL_SOCKET_IFNAME: '=enp1s0f1np1,eth0'}"),
        group("env: {NCCL_SOCKET_IFNAME: enp1, GLOO_SOCKET_IFNAME: eth0}"),
    ],
    "MN005": [
        image(NIGHTLY, "set: {distributed_executor_backend: mp}"),
        image(NIGHTLY, "set: {distributed_executor_backend: ray}", "env: {RAY_memory_monitor_refresh_ms: 250}"),
        image(NIGHTLY, "set: {distributed_executor_backend: ray}", "env: {RAY_memory_monitor_refresh_ms: 0}"),
        deployment("set: {distributed_executor_backend: mp}"),
    ],
    "MN006": [
        deployment("set: {attention_backend: flashinfer}"),
        image("nvcr.io/nvidia/vllm:26.03-py3", "set: {attention_backend: triton_attn}"),
        deployment("set: {moe_backend: triton}", "container: {prelude: [[mkdir, /x]]}"),
        deployment("set: {attention_backend: triton_attn}", f"container: {{prelude: [[mkdir, /x], [{LINK}]]}}"),
    ],
    "MN009": [
        PAIR.replace("177.12/24", "178.12/16").replace("177.11/24", "177.11/16"),
        PAIR.replace("177.12/24", "177.200/25"),
        RING,
        RING.replace("179.13", "180.13"),
    ],
    "MN105": [
        drivers("580.142", "580.126"),
        drivers("580", "595.71.05"),
        drivers("580.142", "580"),
        drivers("58", "580"),
        drivers("580.142", "580.142"),
        PAIR.replace("address: 192.168.1.11\n", 'address: 192.168.1.11\n    driver: "595"\n'),
        PAIR + f"    per_host: {{spark-01: {{image: vllm/vllm-openai:v0.32.0@{ONES}}}}}\n",
        PAIR + f"    per_host: {{spark-02: {{image: vllm/vllm-openai:v0.32.0@{ONES}}}}}\n",
        PAIR + f"    image: vllm/vllm-openai:v0.32.0@{ONES}\n",
        PAIR.replace("address: 192.168.1.11\n", "address: 192.168.1.11\n    platform: own\n") + WITHOUT_DRIVER,
    ],
    "MN100": [
        PAIR.replace("address: 192.168.177.11/24", f"address: 192.168.177.11/24, {TWIN}}}"),
        PAIR.replace("address: 192.168.177.11/24", f"address: 192.168.177.11/24, {TWIN}, address: 192.168.178.11/24}}"),
        PAIR.replace("address: 192.168.177.11/24", f"address: 192.168.177.11/24, {TWIN}, address: 192.168.177.21/24}}"),
    ],
    "MN101": [
        PAIR.replace("192.168.177.", "192.168.1."),
        PAIR.replace("address: 192.168.1.11", "address: spark-01.local") + "    bind: fabric\n",
    ],
    "MN102": [
        PAIR.replace("177.11/24", "177.11/24, mtu: 9000"),
        PAIR.replace("177.11/24", "177.11/24, mtu: 9000").replace("177.12/24", "177.12/24, mtu: 1500"),
        PAIR.replace("177.11/24", "177.11/24, mtu: 9000").replace("177.12/24", "178.12/24, mtu: 1500"),
    ],
    "MN103": [
        PAIR.replace("hca: rocep1s0f1", "hca: rocep1s0f0", 1),
        PAIR.replace("hca: rocep1s0f1", "hca: mlx5_0"),
        PAIR.replace("interface: enp1s0f1np1, hca: rocep1s0f1, ", "interface: enp1s0f1np1, "),
        PAIR.replace("address: 192.168.177.11/24", f"address: 192.168.177.11/24, {TWIN}}}"),
        PAIR.replace(
            "address: 192.168.177.11/24",
            f"address: 192.168.177.11/24, {TWIN}}}".replace("roceP2p1s0f1", "roceP2p1s0f0"),
        ),
    ],
    "MN106": [
        PAIR,
        PAIR.replace("address: 192.168.177.11/24", f"address: 192.168.177.11/24, {TWIN}}}"),
        PAIR.replace("interface: enp1s0f1np1, hca: rocep1s0f1, ", "interface: enp1s0f1np1, "),
        PAIR.replace("enp1s0f1np1, hca: rocep1s0f1", "enP2p1s0f0np0, hca: roceP2p1s0f0"),
        PAIR.replace("enp1s0f1np1, hca: rocep1s0f1", "ens1np0, hca: mlx5_0"),
        PAIR.replace(
            "address: 192.168.177.11/24}",
            "address: 192.168.177.11/24}, {interface: enP2p1s0f1np1, hca: roceP2p1s0f1, address: 192.168.178.11/24}",
        ),
    ],
    "MN013": [
        built(FIXED),
        built(PINNED, model="example/model"),
        built("pip: ['nvidia-cutlass-dsl[cu13]==4.5.0', einops==0.8.1]"),
        built(repository="example/vllm"),
        built("pip: ['nvidia-cutlass-dsl[cu13]==4.5.1']", model="example/model"),
    ],
    "SEC002": [
        deployment("bind: any", "api_key: {secret: k}"),
        deployment("bind: lan"),
        service("port: 80", "bind: any"),
        service("command: [x]"),
        PAIR + "    bind: any\n",
        "name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n" + OLLAMA.replace("hosts:", "bind: any, hosts:"),
    ],
    "SEC100": [
        deployment("bind: loopback"),
        deployment("bind: any"),
        deployment("bind: fabric", host=f"spark-01: {{address: 192.168.1.11, {DIRECT}}}"),
        deployment("bind: lan", host=f"spark-01: {{address: 192.168.1.11, {DIRECT}}}"),
        service("port: 80"),
        service("command: [x]"),
        PAIR,
        "name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n" + OLLAMA,
    ],
    "SEC004": [deployment("set: {allowed_local_media_path: //}"), deployment()],
    "SEC005": [
        deployment(LOOSE, "model_path: /model"),
        deployment("set: {trust_remote_code: false}"),
        deployment(),
    ],
    "SEC006": [
        prelude("wget, 'https://example.org/x'"),
        prelude("sh, -c, 'mkdir /x && curl -O https://example.org/x'"),
        prelude("/usr/bin/git clone, 'https://example.org/x'"),
        prelude("pip, install, --no-cache-dir, a==1, b"),
        prelude("python3, -m, pip, install, --no-cache-dir, a==1, b==2"),
        prelude("echo, curly, wgets"),
        deployment(),
    ],
    "SEC007": [
        of("example/Model-Heretic-v2"),
        of("sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4"),
        AEON.replace("    model: example/model\n", ""),
        AEON,
        service("command: [x]"),
    ],
    "SEC008": [service("command: [x]", "mounts: {/s: {source: /run/docker.sock, read_only: true}}")],
    "SEC012": [deployment("bind: lan"), service("port: 22")],
    "SEC013": [
        deployment("api_key: {secret: k}", f"image: vllm/vllm-openai:v0.21.0@{ONES}"),
        deployment("api_key: {secret: k}", f"image: vllm/vllm-openai:v0.22.0@{ONES}"),
        deployment(f"image: vllm/vllm-openai:v0.21.0@{ONES}"),
    ],
    "SYS002": [
        deployment("timeouts: {ready_s: 899}"),
        deployment("timeouts: {ready_s: 900}"),
        service("timeouts: {ready_s: 60}"),
        elsewhere("timeouts: {ready_s: 60}"),
    ],
    "MON008": [
        of(SUPER, "set: {max_model_len: 98400}"),
        of(SUPER, "set: {max_model_len: 98401}"),
        deployment("set: {max_model_len: 1048576}"),
        of(QWEN, "set: {max_model_len: 262144}"),
        of(QWEN, "set: {max_model_len: 1010000}"),
        of("google/gemma-4-26B-A4B-it", "set: {max_model_len: 262144}"),
        of("google/gemma-4-26B-A4B-it", "set: {max_model_len: 301000}"),
        of(QWEN, "set: {max_model_len: 65536, max_num_batched_tokens: 16384}", TWO),
        of(QWEN, "set: {max_model_len: 65536, max_num_batched_tokens: 16384}"),
        of(QWEN, "set: {max_model_len: 65536, max_num_batched_tokens: 16384}", TWO.replace("2", "1")),
        of(QWEN, "set: {max_model_len: 65536, max_num_batched_tokens: 8192}", TWO),
        of(QWEN, "set: {max_model_len: 65536, max_num_batched_tokens: 16384, enable_chunked_prefill: false}", TWO),
    ],
}

FLEET: Final = {
    code: [Case(text, SAID.get((code, index), ())) for index, text in enumerate(texts)]
    for code, texts in _TEXTS.items()
}
"""Cases by code."""
