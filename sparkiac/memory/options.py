"""The options of a server that determine its memory, with vLLM's defaults for each release."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac.memory.layers import Shape
from sparkiac.memory.values import GIB, Unknown

_LARGE_GPU_BYTES: Final = 70 * GIB
"""A GPU with this memory gets larger batches (vLLM, EngineArgs.get_batch_defaults, 0.15.1 to 0.32.0)."""
_VERY_LARGE_GPU_BYTES: Final = 160 * GIB
"""A GPU with this memory gets still larger ones, since the next release."""
_KNOWS_VERY_LARGE: Final = (0, 28)
_COUNTS_IN_FLIGHT: Final = (0, 26)
"""First release that multiplies the batch tokens by the number of batches in flight."""
_HIGHER_UTILIZATION: Final = (0, 20)
"""First release with a default utilization of 0.92."""
_HUMAN: Final = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG]?)")
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LARGEST_GRAPH: Final = 512
"""Largest batch size with a CUDA graph, if none is set."""
_LIMIT: Final = 1 << 16
"""No server captures graphs of larger batches, whatever an option says."""
_CAPTURES_DECODES: Final = (0, 29)
"""Since this release a server with drafts also captures the sizes of whole decode batches."""
_CACHES_HYBRIDS: Final = (0, 28)
"""Since this release prefix caching is also on by default for hybrid models."""
_OTHER_POOLS: Final = {
    "decode_context_parallel_size": (1,),
    "disable_hybrid_kv_cache_manager": (False,),
    "num_gpu_blocks_override": (),
}
"""Options that change the pool in a way that is not supported here, unless they have one of these values."""
_OTHER_INDEXERS: Final = {"indexer_kv_dtype": ("auto", "fp8"), "use_fp4_indexer_cache": (False,)}
"""The same for keys of attention_config: an indexer with other values does not have eight bits."""


class ServerOptions(NamedTuple):
    """Effective options, under vLLM's names."""

    release: tuple[int, ...]
    """vLLM's release: 0.19.1 is (0, 19, 1)."""
    max_model_len: int | None
    """None for the context length of the checkpoint."""
    max_num_seqs: int
    max_num_batched_tokens: int
    chunk_tokens: int | None
    """Most tokens of a prompt that one step reads; None without chunked prefill: all of them."""
    gpu_memory_utilization: float
    kv_cache_memory_bytes: int | None
    """Fixed size of the pool; the utilization has no effect then."""
    kv_cache_dtype: str
    dtype: str
    block_size: int | None
    """None: the default for the model's kind of attention."""
    tensor_parallel_size: int
    pipeline_parallel_size: int
    enable_prefix_caching: bool | None
    """None: the default of the vLLM release."""
    mamba_cache_mode: str
    mamba_cache_dtype: str
    mamba_ssm_cache_dtype: str
    enforce_eager: bool
    async_scheduling: bool
    encodes: bool
    """Whether images and video are accepted, if the model supports them."""
    graph_sizes: int
    """Batch sizes for which CUDA graphs are captured; 0 in eager mode."""

    @property
    def ranks(self) -> int:
        """Ranks that share the weights."""
        return self.tensor_parallel_size * self.pipeline_parallel_size

    @property
    def in_flight_tokens(self) -> int:
        """Tokens that are scheduled and not yet complete; since 0.26, those of every batch in flight."""
        if self.release < _COUNTS_IN_FLIGHT:
            return self.max_num_batched_tokens
        stages = self.pipeline_parallel_size
        return self.max_num_batched_tokens * (stages + 1 if self.async_scheduling else stages)

    def mamba_mode(self, shape: Shape) -> str:
        """Return the mode of the state cache: `align` keeps states of whole blocks, for prefix caching."""
        by_default = self.release >= _CACHES_HYBRIDS or not shape.hybrid
        cached = by_default if self.enable_prefix_caching is None else self.enable_prefix_caching
        if not cached:
            return "none"
        return "align" if self.mamba_cache_mode == "none" else self.mamba_cache_mode


class Speculation(NamedTuple):
    """Speculative decoding of a server."""

    method: str
    """vLLM's name of the method: mtp, eagle3, dflash, draft_model, ngram, …"""
    tokens: int
    """Drafted tokens in each step."""
    drafter: Shape | None = None
    """The drafter, if it is a separate model."""

    @property
    def predicts(self) -> bool:
        """Whether the MTP layers of the checkpoint draft."""
        return self.method == "mtp" or self.method.endswith("_mtp")


def default_utilization(release: tuple[int, ...]) -> float:
    """Return vLLM's default utilization (vLLM, CacheConfig)."""
    return 0.9 if release < _HIGHER_UTILIZATION else 0.92


def whole(value: object) -> int | None:
    """Return a count that vLLM accepts; the units k, m, g are powers of 1,000 and K, M, G powers of 1,024."""
    found = _HUMAN.fullmatch(str(value)) if isinstance(value, (int, str)) else None
    if found is None:
        return None
    return int(found[1]) * _UNITS[found[2]] if "." not in found[1] else int(float(found[1]) * _UNITS[found[2]])


def read(
    given: Mapping[str, object], *, release: tuple[int, ...], gpu_bytes: int | None = None, drafts: int = 0
) -> ServerOptions | Unknown:
    """Return the effective options.

    `given` are options of the engine in snake_case; irrelevant ones are ignored. `gpu_bytes` is the memory that NVML
    reports, which determines the default batch size; it reports none on GB10, so vLLM takes the defaults of a small
    GPU there. `drafts` are the drafted tokens of a step. Unknown lists options with an invalid or unsupported value.
    """
    reader = _OptionReader(given)
    requests, batch = _batch(gpu_bytes or 0, release)
    requests, batch = reader.count("max_num_seqs", requests), reader.count("max_num_batched_tokens", batch)
    options = ServerOptions(
        release=release,
        max_model_len=reader.context(),
        max_num_seqs=requests,
        max_num_batched_tokens=batch,
        chunk_tokens=reader.chunk(batch),
        gpu_memory_utilization=reader.share("gpu_memory_utilization", default_utilization(release)),
        kv_cache_memory_bytes=reader.optional("kv_cache_memory_bytes"),
        kv_cache_dtype=reader.word("kv_cache_dtype"),
        dtype=reader.word("dtype"),
        block_size=reader.optional("block_size"),
        tensor_parallel_size=reader.count("tensor_parallel_size", 1),
        pipeline_parallel_size=reader.count("pipeline_parallel_size", 1),
        enable_prefix_caching=reader.boolean("enable_prefix_caching"),
        mamba_cache_mode=reader.word("mamba_cache_mode", "none"),
        mamba_cache_dtype=reader.word("mamba_cache_dtype"),
        mamba_ssm_cache_dtype=reader.word("mamba_ssm_cache_dtype"),
        enforce_eager=reader.boolean("enforce_eager") is True,
        async_scheduling=reader.boolean("async_scheduling") is not False,
        encodes=reader.encodes(),
        graph_sizes=reader.graph_sizes(requests, batch, verified=1 + drafts, release=release),
    )
    reader.refuse(given, _OTHER_POOLS)
    reader.refuse(given.get("attention_config"), _OTHER_INDEXERS, "attention_config.")
    return Unknown(tuple(reader.wrong)) if reader.wrong else options


def _batch(gpu_bytes: int, release: tuple[int, ...]) -> tuple[int, int]:
    """Return vLLM's defaults for `max_num_seqs` and `max_num_batched_tokens` of an API server."""
    if release >= _KNOWS_VERY_LARGE and gpu_bytes >= _VERY_LARGE_GPU_BYTES:
        return 1024, 16_384
    return (1024, 8192) if gpu_bytes >= _LARGE_GPU_BYTES else (256, 2048)


def _grid(largest: int) -> set[int]:
    """Return vLLM's batch sizes with CUDA graphs up to the largest one."""
    return {size for size in (1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16)) if size <= largest}


class _OptionReader:
    """Reads options by name and collects the names of those with an invalid value."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.wrong: list[str] = []

    def optional(self, name: str) -> int | None:
        """Return a count."""
        value = self.given.get(name)
        found = whole(value)
        if value is not None and not found:
            self.wrong.append(name)
        return found or None

    def count(self, name: str, default: int) -> int:
        """Return the count that an option sets, or `default` if it is not set or 0."""
        return self.optional(name) or default

    def context(self) -> int | None:
        """Return the maximum request length; `auto` is the context length of the checkpoint."""
        automatic = self.given.get("max_model_len") in ("auto", -1)
        return None if automatic else self.optional("max_model_len")

    def chunk(self, batch: int) -> int | None:
        """Return the most tokens of a prompt that one step reads (vLLM, Scheduler.schedule)."""
        if self.boolean("enable_chunked_prefill") is False:
            return None
        return min(batch, whole(self.given.get("long_prefill_token_threshold")) or batch)

    def share(self, name: str, default: float) -> float:
        """Return a share above 0 and at most 1."""
        value = self.given.get(name, default)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
            return float(value)
        self.wrong.append(name)
        return default

    def word(self, name: str, default: str = "auto") -> str:
        """Return a text."""
        value = self.given.get(name)
        return default if value is None else str(value)

    def boolean(self, name: str) -> bool | None:
        """Return a boolean; None if it is not set."""
        value = self.given.get(name)
        return value if isinstance(value, bool) else None

    def encodes(self) -> bool:
        """Return whether images and video are accepted."""
        limits = self.given.get("limit_mm_per_prompt")
        none = isinstance(limits, Mapping) and limits.get("image") == limits.get("video") == 0
        return not none and self.boolean("language_model_only") is not True

    def graph_sizes(self, requests: int, batch: int, *, verified: int, release: tuple[int, ...]) -> int:
        """Return the number of batch sizes with CUDA graphs: those that are set, or vLLM's (VllmConfig).

        `verified` are the tokens of a request in one step of decoding.
        """
        compiling = self.given.get("compilation_config")
        config = compiling if isinstance(compiling, Mapping) else {}
        if self.boolean("enforce_eager") or config.get("cudagraph_mode") == "NONE":
            return 0
        listed = self.given.get("cudagraph_capture_sizes", config.get("cudagraph_capture_sizes"))
        if isinstance(listed, (list, tuple)):
            return len({size for size in listed if isinstance(size, int) and size <= batch})
        most = self.given.get("max_cudagraph_capture_size", config.get("max_cudagraph_capture_size"))
        if isinstance(most, int):
            return len(_grid(min(most, batch, _LIMIT)))
        largest = min(2 * requests * verified, _LARGEST_GRAPH, batch)
        counts = {*_grid(min(requests, largest)), requests} if release >= _CAPTURES_DECODES else ()
        return len({*_grid(largest), *(verified * count for count in counts if verified * count <= largest)})

    def refuse(self, held: object, neutral: Mapping[str, tuple[object, ...]], within: str = "") -> None:
        """Record the options or keys of an object that have other values than the supported ones."""
        found = {key: held.get(key) for key in neutral} if isinstance(held, Mapping) else {}
        accepted = {key: [repr(value) for value in (None, *values)] for key, values in neutral.items()}
        self.wrong += [f"{within}{key}" for key, value in found.items() if repr(value) not in accepted[key]]
