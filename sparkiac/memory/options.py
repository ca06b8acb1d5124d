"""What of a server's options decides on its memory, with vLLM's own defaults by release."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.values import GIB, Unknown

if TYPE_CHECKING:
    from sparkiac.memory.layers import Shape

# A GPU of 70 GiB or more gets larger batches (vLLM, EngineArgs.get_batch_defaults, 0.15.1 to 0.32.0).
_LARGE_GPU_BYTES: Final = 70 * GIB
_HUMAN: Final = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG]?)")
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CACHES_HYBRIDS: Final = (0, 28)
"""From here on prefix caching is on by default for hybrid models, too."""
# Options that change the pool in ways that this arithmetic has no words for, unless they are told this.
_OTHER_POOLS: Final = {
    "decode_context_parallel_size": 1,
    "disable_hybrid_kv_cache_manager": False,
    "num_gpu_blocks_override": None,
}
# The same of what attention_config holds; an indexer has eight bits otherwise.
_OTHER_INDEXERS: Final = {"indexer_kv_dtype": ("auto", "fp8"), "use_fp4_indexer_cache": (False,)}


class ServerOptions(NamedTuple):
    """Options under vLLM's names, as they hold."""

    release: tuple[int, ...]
    """vLLM's release: 0.19.1 is (0, 19, 1)."""
    max_model_len: int | None
    """None: the context that the checkpoint was trained for."""
    max_num_seqs: int
    max_num_batched_tokens: int
    gpu_memory_utilization: float
    kv_cache_memory_bytes: int | None
    """Size of the pool where it is told; then the utilization does not count."""
    kv_cache_dtype: str
    dtype: str
    block_size: int | None
    """None: what the model's attention wants."""
    tensor_parallel_size: int
    pipeline_parallel_size: int
    enable_prefix_caching: bool | None
    """None: as the release does for the model."""
    mamba_cache_mode: str
    mamba_cache_dtype: str
    mamba_ssm_cache_dtype: str
    enforce_eager: bool
    async_scheduling: bool
    encodes: bool
    """Whether it takes images and video, if the model does."""

    @property
    def in_flight_tokens(self) -> int:
        """Tokens that are scheduled and not settled: from 0.26 on, those of every batch that is under way."""
        if self.release < (0, 26):
            return self.max_num_batched_tokens
        stages = self.pipeline_parallel_size
        return self.max_num_batched_tokens * (stages + 1 if self.async_scheduling else stages)

    def mamba_mode(self, shape: Shape) -> str:
        """Give the mode of the state cache: `align` keeps states of whole blocks, for prefix caching."""
        by_default = self.release >= _CACHES_HYBRIDS or not shape.hybrid
        cached = by_default if self.enable_prefix_caching is None else self.enable_prefix_caching
        if not cached:
            return "none"
        return "align" if self.mamba_cache_mode == "none" else self.mamba_cache_mode


class Speculation(NamedTuple):
    """How a server drafts."""

    method: str
    """vLLM's word: mtp, eagle3, dflash, draft_model, ngram, …"""
    tokens: int
    """Drafted tokens of each step."""
    drafter: Shape | None = None
    """The drafter, where it is a model of its own."""

    @property
    def predicts(self) -> bool:
        """Whether the checkpoint's own layers for multi-token prediction draft."""
        return self.method == "mtp" or self.method.endswith("_mtp")


def default_utilization(release: tuple[int, ...]) -> float:
    """Give the share of the memory that vLLM takes if none is set (vLLM, CacheConfig)."""
    return 0.9 if release < (0, 20) else 0.92


def read(
    given: Mapping[str, object], *, release: tuple[int, ...], visible_bytes: int | None = None
) -> ServerOptions | Unknown:
    """Give the options as they hold.

    `given` are an engine's options in snake_case; others are passed over. `visible_bytes` is the memory that CUDA
    sees, which decides on the size of a batch that nobody states. Unknown names options whose value makes no sense
    or that this arithmetic has no words for.
    """
    reader = _Given(given)
    large = visible_bytes is None or visible_bytes >= _LARGE_GPU_BYTES
    options = ServerOptions(
        release=release,
        max_model_len=reader.context(),
        max_num_seqs=reader.count("max_num_seqs", 1024 if large else 256),
        max_num_batched_tokens=reader.count("max_num_batched_tokens", 8192 if large else 2048),
        gpu_memory_utilization=reader.share("gpu_memory_utilization", default_utilization(release)),
        kv_cache_memory_bytes=reader.optional("kv_cache_memory_bytes"),
        kv_cache_dtype=reader.word("kv_cache_dtype"),
        dtype=reader.word("dtype"),
        block_size=reader.optional("block_size"),
        tensor_parallel_size=reader.count("tensor_parallel_size", 1),
        pipeline_parallel_size=reader.count("pipeline_parallel_size", 1),
        enable_prefix_caching=reader.truth("enable_prefix_caching"),
        mamba_cache_mode=reader.word("mamba_cache_mode", "none"),
        mamba_cache_dtype=reader.word("mamba_cache_dtype"),
        mamba_ssm_cache_dtype=reader.word("mamba_ssm_cache_dtype"),
        enforce_eager=reader.truth("enforce_eager") is True,
        async_scheduling=reader.truth("async_scheduling") is not False,
        encodes=reader.encodes(),
    )
    reader.refuse(_OTHER_POOLS)
    reader.refuse_within("attention_config", _OTHER_INDEXERS)
    return Unknown(tuple(reader.wrong)) if reader.wrong else options


class _Given:
    """Options by name; it keeps the names of those whose value makes no sense."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.wrong: list[str] = []

    def optional(self, name: str) -> int | None:
        """Give a count, also one with a unit: k, m, g of 1,000, and K, M, G of 1,024."""
        value = self.given.get(name)
        if value is None:
            return None
        found = _HUMAN.fullmatch(str(value)) if isinstance(value, (int, str)) else None
        if found is None or isinstance(value, bool) or not float(found[1]):
            self.wrong.append(name)
            return None
        return int(found[1]) * _UNITS[found[2]] if "." not in found[1] else int(float(found[1]) * _UNITS[found[2]])

    def count(self, name: str, default: int) -> int:
        """Give a count, or the default."""
        return self.optional(name) or default

    def context(self) -> int | None:
        """Give the longest request; `auto` stands for what the checkpoint was trained for."""
        automatic = self.given.get("max_model_len") in ("auto", -1)
        return None if automatic else self.optional("max_model_len")

    def share(self, name: str, default: float) -> float:
        """Give a share above 0 and up to 1."""
        value = self.given.get(name, default)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
            return float(value)
        self.wrong.append(name)
        return default

    def word(self, name: str, default: str = "auto") -> str:
        """Give a word."""
        value = self.given.get(name)
        return default if value is None else str(value)

    def truth(self, name: str) -> bool | None:
        """Give a truth value; None if it is not said."""
        value = self.given.get(name)
        return value if isinstance(value, bool) else None

    def encodes(self) -> bool:
        """Tell whether images and video are let in."""
        limits = self.given.get("limit_mm_per_prompt")
        none = isinstance(limits, Mapping) and limits.get("image") == limits.get("video") == 0
        return not none and self.truth("language_model_only") is not True

    def refuse(self, neutral: Mapping[str, object]) -> None:
        """Note options that are told another value than the one that changes nothing."""
        said = {name: self.given[name] for name in neutral if self.given.get(name) is not None}
        self.wrong += [name for name, value in said.items() if repr(value) != repr(neutral[name])]

    def refuse_within(self, name: str, neutral: Mapping[str, tuple[object, ...]]) -> None:
        """Note keys of an object that are told a value that changes something."""
        held = self.given.get(name)
        said = {key: held.get(key) for key in neutral} if isinstance(held, Mapping) else {}
        self.wrong += [f"{name}.{key}" for key, value in said.items() if value not in (None, *neutral[key])]
