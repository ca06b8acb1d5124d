"""Check that vLLM's configuration classes refuse what the facts VAL* say they refuse, release by release.

`run.py 0.11.1 0.15.1 0.19.0 0.20.0 0.23.0 0.25.1 0.28.0 0.31.0 0.33.0` writes validators.run: release, fact, and
`refused` or `taken`. The classes run with the stand-ins of ../vllm_interface for torch and all other libraries. A case
counts as refused if the class refuses it and takes the same values with one change.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).parent
RUN: Final = HERE / "validators.run"
HEAD: Final = "# release, fact, and whether vLLM's own class refuses what the fact says"
sys.path.insert(0, str(HERE.parent / "vllm_interface"))


class Case(NamedTuple):
    """A configuration that vLLM refuses according to a fact."""

    fact: str
    """Code of the rule and number of the fact."""
    module: str
    """Module of vllm.config."""
    name: str
    """Class."""
    bad: dict[str, Any]
    change: dict[str, Any]
    """What makes it good."""
    first: str = "0.11.0"
    """First release that it is asked of: facts about refusals.found say nothing of releases before 0.20.0."""


_LENGTH: Final = {"max_model_len": 4096, "is_encoder_decoder": False}
_NO_POOLING: Final = {"pooling_type": None}
READ: Final = "0.20.0"
_LOCAL: Final = {"distributed_executor_backend": "mp"}
CASES: Final = (
    Case(
        "VAL001-1",
        "scheduler",
        "SchedulerConfig",
        {**_LENGTH, "max_num_batched_tokens": 2048, "max_num_seqs": 4, "enable_chunked_prefill": False},
        {"enable_chunked_prefill": True},
    ),
    Case(
        "VAL001-2",
        "scheduler",
        "SchedulerConfig",
        {**_LENGTH, "max_num_batched_tokens": 64, "max_num_seqs": 128},
        {"max_num_batched_tokens": 128},
    ),
    Case(
        "VAL001-4",
        "scheduler",
        "SchedulerConfig",
        {**_LENGTH, "max_num_batched_tokens": 8192, "max_num_seqs": 4, "long_prefill_token_threshold": 8192},
        {"long_prefill_token_threshold": 1024},
    ),
    Case("VAL002-5", "parallel", "ParallelConfig", {"decode_context_parallel_size": 2}, {"tensor_parallel_size": 2}),
    Case(
        "VAL002-8",
        "parallel",
        "ParallelConfig",
        {"enable_eplb": True, "tensor_parallel_size": 2},
        {"enable_expert_parallel": True},
    ),
    Case(
        "VAL002-9",
        "parallel",
        "ParallelConfig",
        {"enable_eplb": True, "enable_expert_parallel": True},
        {"tensor_parallel_size": 2},
    ),
    Case(
        "VAL002-11",
        "parallel",
        "ParallelConfig",
        {"data_parallel_size_local": 4, "data_parallel_size": 2},
        {"data_parallel_size_local": 2},
    ),
    Case("VAL002-12", "parallel", "ParallelConfig", {"data_parallel_external_lb": True}, {"data_parallel_size": 2}),
    Case("VAL002-13", "parallel", "ParallelConfig", {"dcp_comm_backend": "a2a"}, {"dcp_comm_backend": "ag_rs"}),
    Case(
        "VAL002-14", "parallel", "ParallelConfig", {"ray_workers_use_nsight": True}, {"ray_workers_use_nsight": False}
    ),
    Case("VAL002-16", "parallel", "ParallelConfig", {"numa_bind_nodes": [0]}, {"numa_bind_nodes": None}),
    Case(
        "VAL010-7",
        "structured_outputs",
        "StructuredOutputsConfig",
        {"disable_any_whitespace": True},
        {"backend": "xgrammar"},
    ),
    Case(
        "VAL010-8",
        "structured_outputs",
        "StructuredOutputsConfig",
        {"disable_additional_properties": True, "backend": "xgrammar"},
        {"backend": "guidance"},
    ),
    Case("VAL010-9", "kv_transfer", "KVTransferConfig", {"kv_connector": "NixlConnector"}, {"kv_role": "kv_both"}),
    Case("VAL010-13", "lora", "LoRAConfig", {"max_cpu_loras": 1, "max_loras": 4}, {"max_cpu_loras": 4}),
    Case(
        "VAL010-17",
        "multimodal",
        "MultiModalConfig",
        {"mm_shm_cache_max_object_size_mb": 256},
        {"mm_processor_cache_type": "shm"},
    ),
    Case(
        "VAL001-5",
        "scheduler",
        "SchedulerConfig",
        {**_LENGTH, "max_num_batched_tokens": 8192, "max_num_seqs": 4, "max_num_active_seqs": 8},
        {"max_num_active_seqs": 4},
        READ,
    ),
    Case("VAL010-35", "pooler", "PoolerConfig", {"pooling_type": "CLS", "seq_pooling_type": "CLS"}, _NO_POOLING, READ),
    Case("VAL010-36", "pooler", "PoolerConfig", {"pooling_type": "ALL", "tok_pooling_type": "ALL"}, _NO_POOLING, READ),
    Case("VAL010-57", "pooler", "PoolerConfig", {"logit_bias": 1.0, "logit_mean": 1.0}, {"logit_bias": None}, READ),
    Case("VAL010-58", "pooler", "PoolerConfig", {"logit_scale": 1.0, "logit_sigma": 1.0}, {"logit_scale": None}, READ),
    Case("VAL010-37", "profiler", "ProfilerConfig", {"profiler": "torch"}, {"torch_profiler_dir": "/srv/x"}, READ),
    Case("VAL010-38", "profiler", "ProfilerConfig", {"torch_profiler_dir": "/srv/x"}, {"profiler": "torch"}, READ),
    Case("VAL010-39", "profiler", "ProfilerConfig", {"profiler": "proton"}, {"proton_profiler_dir": "/srv/x"}, READ),
    Case(
        "VAL010-40",
        "observability",
        "ObservabilityConfig",
        {"collect_detailed_traces": ["all"]},
        {"collect_detailed_traces": None},
        READ,
    ),
    Case(
        "VAL010-41",
        "offload",
        "OffloadConfig",
        {"prefetch": {"offload_group_size": 2, "offload_num_in_group": 3}},
        {"prefetch": {"offload_group_size": 3, "offload_num_in_group": 3}},
        READ,
    ),
    Case(
        "VAL010-42",
        "offload",
        "OffloadConfig",
        {"prefetch": {"offload_group_size": 2, "offload_prefetch_step": 0}},
        {"prefetch": {"offload_group_size": 2, "offload_prefetch_step": 1}},
        READ,
    ),
    Case(
        "VAL010-43",
        "ec_transfer",
        "ECTransferConfig",
        {"ec_connector": "ECExampleConnector"},
        {"ec_role": "ec_producer"},
        READ,
    ),
    Case(
        "VAL010-59",
        "attention",
        "AttentionConfig",
        {"use_fp4_indexer_cache": True, "indexer_kv_dtype": "fp8"},
        {"indexer_kv_dtype": "mxfp4"},
        READ,
    ),
    Case(
        "VAL010-60",
        "attention",
        "AttentionConfig",
        {"minimax_m3_indexer_cp": True, "indexer_kv_dtype": "mxfp4"},
        {"indexer_kv_dtype": "fp8"},
        READ,
    ),
    Case("VAL014-1", "mamba", "MambaConfig", {"ssu_algorithm": "simple"}, {"backend": "flashinfer"}, READ),
)


def refuses(case: Case) -> bool:
    """Return whether the class refuses the bad values and accepts the good ones."""
    made = getattr(importlib.import_module(f"vllm.config.{case.module}"), case.name)
    common = _LOCAL if case.module == "parallel" else {}
    return not _takes(made, common | case.bad) and _takes(made, common | case.bad | case.change)


def _takes(made: type, values: dict[str, Any]) -> bool:
    try:
        made(**values)
    except (TypeError, ValueError):  # pydantic's errors are of these kinds
        return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def inside(source: Path, version: str) -> None:
    """Print the verdicts of one release, in an environment with its few real libraries."""
    import options  # noqa: PLC0415  it replaces most libraries

    with contextlib.redirect_stdout(io.StringIO()):
        options.collect(source, version)
    for case in CASES:
        if _numbers(case.first) <= _numbers(version):
            print(version, case.fact, "refused" if refuses(case) else "taken")


def verdicts(version: str, archives: Path, python: Path) -> str:
    """Return the verdicts of one release."""
    import fetch  # noqa: PLC0415  needs Python 3.11, which `inside` may not have

    with tempfile.TemporaryDirectory() as folder:
        fetch.unpack(fetch.download(fetch.locked()[version], archives), Path(folder))
        command = [str(python), __file__, "--inside", folder, version]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def main() -> None:
    """Run the cases in the named releases."""
    parser = argparse.ArgumentParser(description="Run vLLM's own validators.")
    parser.add_argument("versions", nargs="+", help="releases of ../vllm_interface/sources.lock")
    parser.add_argument("--archives", type=Path, help="keep the archives in this folder")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments.inside.resolve(), arguments.versions[0])
        return
    import fetch  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        archives = arguments.archives or Path(folder)
        python = fetch.environment(Path(folder) / "venv")
        found = "".join(verdicts(version, archives, python) for version in arguments.versions)
    RUN.write_text(f"{HEAD}\n{found}")


if __name__ == "__main__":
    main()
