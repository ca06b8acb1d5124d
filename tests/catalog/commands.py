"""Each command that a source prints: its facts, its catalog entry, and what that entry does otherwise.

A difference names an entry of `corrections` in the catalog file. A correction that is no difference between the facts
is a remark here, with the reason why it is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sparkiac.resolve import catalogued
from tests.catalog.differences import (
    ALL,
    CLOSED,
    GROUP,
    LISTENS,
    PUBLISHED,
    READ_ONLY,
    UNPINNED,
    VLLM,
    Difference,
    own_models,
    read_only,
)
from tests.catalog.printed import CALLERS, deepseek_thread, dual_spark_post, env, flags, spark_guide, vllm_blog
from tests.catalog.rendered import LEADER, STORE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.catalog.differences import Standing
    from tests.catalog.printed import Fact

GEMMA4_LOADER: Final = "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/models/gemma4.py"
NANO_PARSER: Final = "/opt/sparkiac/nano_v3_reasoning_parser.py"
NANO_PARSER_SOURCE: Final = "hf://nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4/nano_v3_reasoning_parser.py"
PR_41834: Final = {
    "number": 41834,
    "repository": "https://github.com/vllm-project/vllm.git",
    "commit": "2" * 40,
}
SOURCES: Final = "the sources disagree, and the printed command is followed"


DIRECTORY: Final = (*ALL, *READ_ONLY, *PUBLISHED, *CLOSED, *LISTENS, *UNPINNED)
"""For weights that lie in a directory: the playbooks put the pinned commit there, and the server is told the path."""


@dataclass(frozen=True)
class Command:
    """A command, and how its catalog entry is rendered for the comparison."""

    entry: str
    where: str
    facts: set[Fact]
    differences: tuple[Difference, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Correction → why it is no difference of this command's own."""
    standing: tuple[Standing, ...] = (*ALL, *READ_ONLY, *PUBLISHED, *CLOSED, *LISTENS, *VLLM)
    says: Mapping[str, Any] = field(default_factory=dict)
    """What the deployment says beside its recipe, because the source leaves it to the reader."""
    builds: Mapping[str, Any] = field(default_factory=dict)
    """What the inventory says of builds for the same reason."""
    hosts: int = 1
    told: bool = False
    """Whether the source tells it in prose and prints no command."""

    @property
    def printed(self) -> frozenset[Fact]:
        """The source's facts."""
        return frozenset(self.facts)

    def all_differences(self) -> tuple[Difference, ...]:
        """Return the standing differences, then this command's own."""
        standing = tuple(each.of(self.printed) for each in self.standing)
        return (*standing, own_models(self.models()), read_only(self.printed), *self.differences)

    def models(self) -> tuple[str, ...]:
        """Return the repositories that the server reads in the model store."""
        values = {**catalogued.named(self.entry).values, **self.says}
        named = None if "model_path" in values else values.get("model")
        drafter = values.get("speculative", {}).get("model")
        read = filter(None, (named, drafter, *values.get("needs_models", ())))
        return tuple("/".join(each.split("/")[-2:]) for each in read)  # AEON's names its drafter by a path


def corrects(what: str, *, gone: set[Fact] | None = None, new: set[Fact] | None = None) -> Difference:
    """Name a difference of one command by the entry of `corrections` that gives its reason."""
    return Difference(what, frozenset(gone or ()), frozenset(new or ()))


NODES: Final = (
    flags(nnodes=2, node_rank=0, master_addr=LEADER, master_port=29501)
    | env(VLLM_HOST_IP=LEADER, NCCL_SOCKET_IFNAME="enp1s0f1np1", GLOO_SOCKET_IFNAME="enp1s0f1np1")
    | env(NCCL_IB_HCA="rocep1s0f1", NCCL_NET_PLUGIN="none", NCCL_IB_TIMEOUT="22")
    | {("container", "network", "host"), ("container", "device", "/dev/infiniband"), ("container", "env_file")}
    | {("ulimit", "memlock", "-1"), ("ulimit", "stack", "67108864")}
)
LAUNCHERS: Final[set[Fact]] = {
    ("container", "ipc", "host"),
    ("mount", "/root/.cache/huggingface", STORE),
    ("read-only", "/root/.cache/huggingface"),
}
JIT_CACHES: Final = env(TILELANG_CACHE_DIR="/cache/tilelang", DG_JIT_CACHE_DIR="/cache/deep_gemm")

_COMMANDS: Final = (
    Command(
        "base/single-spark",
        "Spark guide §6",
        spark_guide.BASELINE | {("model", "example/any")},  # the reader's choice
        says={"model": "example/any"},
    ),
    Command(
        "nvidia/qwen3.6-35b-a3b-nvfp4",
        "Spark guide §7.1.1",
        spark_guide.QWEN36_35B,
    ),
    Command("nvidia/qwen3.6-35b-a3b-nvfp4#mtp-demo", "Spark guide §14.3", spark_guide.MTP),
    Command(
        "unsloth/qwen3.6-27b-nvfp4",
        "Spark guide §7.1.2",
        spark_guide.QWEN36_27B,
    ),
    Command("qwen/qwen3-coder-next-fp8", "Spark guide §7.1.3", spark_guide.QWEN3_CODER_NEXT),
    Command("redhatai/qwen3.5-122b-a10b-nvfp4", "Spark guide §7.1.4", spark_guide.QWEN35_122B),
    Command("nvidia/gemma-4-31b-it-nvfp4", "Spark guide §7.2.1", spark_guide.GEMMA4_31B),
    Command(
        "bg-digitalservices/gemma-4-26b-a4b-it-nvfp4",
        "Spark guide §7.2.2",
        spark_guide.GEMMA4_26B,
        (
            corrects(
                "the model is the positional argument, not --model",
                gone={("words", "--model")},
            ),
            corrects(
                "the weights are in the store under organisation/name, not in ~/vllm/gemma4-26b-a4b-nvfp4",
                gone={("mount", "/models/gemma4", "~/vllm/gemma4-26b-a4b-nvfp4")},
                new={("mount", "/models/gemma4", f"{STORE}/bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4")},
            ),
            corrects(
                "gemma4_patched.py is fetched separately and mounted read-only, "
                "not taken from the downloaded checkpoint",
                gone={("mount", GEMMA4_LOADER, "~/vllm/gemma4-26b-a4b-nvfp4/gemma4_patched.py")},
                new={("mount", GEMMA4_LOADER, "hf://bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4/gemma4_patched.py")},
            ),
        ),
        standing=DIRECTORY,
    ),
    Command(
        "sakamakismile/gemma-4-12b-coder-nvfp4",
        "Spark guide §7.2.3",
        spark_guide.GEMMA4_12B_CODER,
        (
            corrects(
                "the model is the positional argument, not --model",
                gone={("words", "--model")},
            ),
            corrects(
                "the weights are in the store under organisation/name, not in ~/vllm/gemma4-coder",
                gone={("mount", "/model", "~/vllm/gemma4-coder")},
                new={("mount", "/model", f"{STORE}/sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4")},
            ),
        ),
        says={"allow": [{"code": "MEM001", "reason": "0.92 is what the source prints (L268)"}]},
        standing=DIRECTORY,
    ),
    Command(
        "nvidia/nemotron-3-nano-30b-a3b-nvfp4",
        "Spark guide §7.3.1",
        spark_guide.NEMOTRON_NANO,
        (
            corrects(
                "the parser plugin is at /opt/sparkiac/nano_v3_reasoning_parser.py, not under /models",
                gone=flags(reasoning_parser_plugin="/models/nano_v3_reasoning_parser.py"),
                new=flags(reasoning_parser_plugin=NANO_PARSER)
                | {("read-only", NANO_PARSER)}
                | {("mount", NANO_PARSER, NANO_PARSER_SOURCE)},
            ),
        ),
    ),
    Command(
        "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4",
        "Spark guide §7.3.2",
        spark_guide.NEMOTRON_OMNI,
        (
            corrects(
                "requests can read local media only below /media",
                gone=flags(allowed_local_media_path="/"),
                new=flags(allowed_local_media_path="/media"),
            ),
            corrects(
                "the image's entrypoint runs after a shell, and pip install is a separate quoted step",
                gone={("container", "entrypoint", "/bin/bash"), ("words", "vllm serve")},
                new={("container", "entrypoint", "/bin/sh")},
            ),
            corrects(
                "the root file system is writable",
                new={("container", "read_only", "false")},
            ),
        ),
        standing=(*ALL, *PUBLISHED, *LISTENS, *VLLM),
    ),
    Command(
        "nvidia/nemotron-3-super-120b-a12b-nvfp4",
        "vLLM blog L61-76",
        vllm_blog.NEMOTRON_SUPER,
        (
            corrects(
                "the command starts with the model, not with vllm serve (vLLM blog L67-68)",
                gone={("words", "vllm serve")},
            ),
        ),
    ),
    Command(
        "aeon-7/dflash-qwen3.5-27b-nvfp4",
        "Spark guide §14.4",
        spark_guide.AEON_DFLASH,
        (
            corrects(
                "the drafter z-lab/Qwen3.5-27B-DFlash is named by its path in the store, not by its handle",
                gone=env(DFLASH_DRAFTER="z-lab/Qwen3.5-27B-DFlash"),
                new=env(DFLASH_DRAFTER="/models/drafter-cache/z-lab/Qwen3.5-27B-DFlash"),
            ),
            corrects(
                "the store is mounted read-only at /models/drafter-cache, instead of ~/vllm/drafter-cache",
                gone={("mount", "/models/drafter-cache", "~/vllm/drafter-cache")},
                new={("mount", "/models/drafter-cache", STORE)},
            ),
            corrects(
                "the weights are in the store under organisation/name, not in ~/vllm",
                gone={("mount", "/models/target", "~/vllm/DFlash-Qwen3.5-27B-Uncensored-NVFP4")},
                new={("mount", "/models/target", f"{STORE}/AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4")},
            ),
            corrects(
                "VLLM_API_KEY is not passed; the port is published on loopback",
                gone=env(VLLM_API_KEY=CALLERS),
            ),
        ),
        standing=(*ALL, *READ_ONLY, *PUBLISHED, *CLOSED, *UNPINNED),
    ),
    Command(
        "poolside/laguna-xs.2-dflash",
        "Spark guide §14.5",
        spark_guide.LAGUNA,
        (
            corrects(
                "attention_backend triton_attn is set",
                new=flags(attention_backend="triton_attn"),
            ),
        ),
    ),
    Command(
        "redhatai/qwen3.6-35b-a3b-nvfp4",
        "dual-Spark post L19-58",
        dual_spark_post.SPARK_1,
        says={"model_store": "/home/milo/.cache/huggingface"},
        remarks={
            "the context is 131072 tokens": SOURCES,
        },
    ),
    Command(
        "google/gemma-4-26b-a4b-it-fp8",
        "dual-Spark post L62-98",
        dual_spark_post.SPARK_2,
        says={"model_store": "/home/milo/.cache/huggingface"},
    ),
    Command(
        "deepseek-ai/deepseek-v4-flash",
        "DeepSeek-V4 thread L241-304",
        deepseek_thread.EUGR_MTP,
        (
            corrects("the group is started with vLLM's own multi-node options, not with a cluster script", new=NODES),
            corrects(
                "tensor_parallel_size, pipeline_parallel_size and distributed_executor_backend are not set here",
                gone=flags(pipeline_parallel_size=1),
            ),
            corrects("IPC and the mount of the model store are set here", new=LAUNCHERS),
            corrects("TILELANG_CACHE_DIR and DG_JIT_CACHE_DIR are added", new=JIT_CACHES),
        ),
        {"PR 41834 and the mod fix-ds4-gpu-cache are part of the image's build": "the build is no part of the command"},
        standing=(*ALL, *READ_ONLY, *GROUP, *VLLM),
        builds={"vllm-node-dsv4": {"commit": "1" * 40, "pull_requests": [PR_41834]}},
        hosts=2,
    ),
    Command(
        "deepseek-ai/deepseek-v4-flash-pinned",
        "DeepSeek-V4 thread L341-386",
        deepseek_thread.RAY_ROCE | {("image", "vllm-ds4-pinned")},  # the source lost the image's name
        (
            corrects(
                "the group is started with vLLM's own multi-node options, not with Ray",
                gone=flags(distributed_executor_backend="ray"),
                new=flags(distributed_executor_backend="mp") | NODES,
            ),
            corrects("IPC and the mount of the model store are set here", new=LAUNCHERS),
            corrects("TILELANG_CACHE_DIR and DG_JIT_CACHE_DIR are added", new=JIT_CACHES),
        ),
        {
            "tensor_parallel_size and distributed_executor_backend are not set here": "they are rendered all the same",
            "options are written with plain hyphens and quotes": "facts are compared, not their spelling",
        },
        standing=(*ALL, *READ_ONLY, *GROUP, *VLLM),
        says={"port": 8000},
        builds={"vllm-ds4-pinned": {"base": "nvcr.io/nvidia/vllm:26.04-py3", "install": ["pip", "install", "."]}},
        hosts=2,
        told=True,
    ),
)
COMMANDS: Final = {command.entry: command for command in _COMMANDS}
"""All commands, by the catalog entry that stands for them."""
