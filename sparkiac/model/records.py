"""Recorded starts and speeds of links: what was measured once, and is used by the next plan.

A recorded start is the server that was started, its memory and speeds, and the source of these figures.

The catalog ships records of public starts; `measurements/` beside an inventory holds those of the user's servers, which
`sparkiac memory` and `sparkiac bench` write. A figure that the source does not state is None, never zero. The
speeds of links are in a small JSON file beside the inventory: the best and the latest of each tool.
"""

import json
from collections.abc import Iterable
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field

from sparkiac.model.base import (
    Bytes,
    Commit,
    Digest,
    ImageReference,
    Line,
    Model,
    ModelHandle,
    Name,
    ShortText,
    Version,
)

MEMORY_OPTIONS: Final = (
    "attention_backend",
    "attention_config",
    "block_size",
    "compilation_config",
    "cpu_offload_gb",
    "cudagraph_capture_sizes",
    "data_parallel_size",
    "decode_context_parallel_size",
    "disable_hybrid_kv_cache_manager",
    "dtype",
    "enable_chunked_prefill",
    "enable_expert_parallel",
    "enable_lora",
    "enable_prefix_caching",
    "enforce_eager",
    "gpu_memory_utilization",
    "hf_overrides",
    "kv_cache_dtype",
    "kv_cache_memory_bytes",
    "language_model_only",
    "limit_mm_per_prompt",
    "linear_backend",
    "load_format",
    "mamba_cache_dtype",
    "mamba_cache_mode",
    "mamba_ssm_cache_dtype",
    "max_cudagraph_capture_size",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
    "mm_processor_kwargs",
    "moe_backend",
    "num_gpu_blocks_override",
    "pipeline_parallel_size",
    "quantization",
    "tensor_parallel_size",
)
"""Options of vLLM that change the memory of a server. A record counts for a server only if they are all equal."""

Tokens = Annotated[int, Field(ge=0)]
FASTEST: Final = 10**6
"""Tokens per second that no server reaches."""
Rate = Annotated[float, Field(gt=0, le=FASTEST)]
Share = Annotated[float, Field(ge=0, le=1)]


class Drafts(Model):
    """Speculative decoding of the server."""

    method: Line
    """vLLM's name of the method."""
    tokens: Annotated[int, Field(ge=0)] = 0
    """Drafted tokens in each step."""
    model: Line | None = None
    """Repository of the drafter, if it is a separate model."""
    commit: Commit | None = None
    """Its commit."""


class StartSubject(Model):
    """The server that was started. Its figures are used for another server only if all these values are equal."""

    engine: Name = "vllm"
    release: Version | None = None
    """Release of the engine; the base release of a fork or development build."""
    build: ShortText | None = None
    """Full version of a fork or development build."""
    image: ImageReference | None = None
    digest: Digest | None = None
    """Digest of the image, as in the lock."""
    model: ModelHandle | Line
    """Repository of the weights on the model hub."""
    commit: Commit | None = None
    """Its commit, as in the lock."""
    options: dict[Line, object] = {}
    """Options that change memory, under the names of the inventory: see MEMORY_OPTIONS."""
    environment: dict[Line, Line] = {}
    """Variables of the engine that change memory."""
    drafts: Drafts | None = None
    platform: Name
    """Hardware profile of the catalog (`dgx-spark`), or the device, such as `h100-80gb`."""
    hosts: Annotated[int, Field(ge=1)] = 1
    """Machines of the group."""


class Terms(Model):
    """Memory of one rank, in bytes; in a group, of the rank with the smallest pool."""

    visible_bytes: Bytes | None = None
    """Memory that CUDA reports."""
    requested_bytes: Bytes | None = None
    """Share that the server requests of it."""
    weights_bytes: Bytes | None = None
    """Loaded weights, with those of the drafter."""
    activations_bytes: Bytes | None = None
    """Peak of PyTorch while one batch of the largest size runs; with the encoder's, if it has one."""
    non_torch_bytes: Bytes | None = None
    """CUDA context after the first snapshot, NCCL, and what else is not allocated by PyTorch."""
    graphs_estimate_bytes: Bytes | None = None
    """CUDA graphs as the release estimates them, inside the request; 0 if the runner does not estimate them."""
    graphs_bytes: Bytes | None = None
    """CUDA graphs as captured; on top of the request where the release does not estimate them."""
    pool_bytes: Bytes | None = None
    """KV cache."""
    host_bytes: Bytes | None = None
    """Resident memory of the server's processes on the host, without the GPU's."""
    late_bytes: Bytes | None = None
    """What was allocated after the start in addition to all of these."""


class Cached(Model):
    """The KV cache as the engine reports it."""

    tokens: Tokens | None = None
    blocks: Tokens | None = None
    block_tokens: Tokens | None = None
    context: Tokens | None = None
    """max_model_len of the figures."""
    concurrency: Annotated[float, Field(ge=0)] | None = None
    """Requests of that length at the same time."""


class Speed(Model):
    """One measured speed, in tokens per second."""

    kind: Literal["decode", "prefill", "aggregate"]
    """`decode` and `prefill` of one request; `aggregate`: generated tokens of all requests together."""
    rate: Rate
    """Median."""
    low: Rate | None = None
    high: Rate | None = None
    """Lowest and highest value of the repetitions; of a bench, the 10th and 90th percentile, at least 2 % apart from
    the median."""
    context: Tokens | None = None
    """Tokens before the measured ones: for decode, the prompt; for prefill, its length."""
    concurrency: Annotated[int, Field(ge=1)] = 1
    """Concurrent requests."""
    acceptance: Share | None = None
    """Accepted share of the drafted tokens."""
    note: ShortText | None = None
    """Kind of text, or what else distinguishes this figure."""
    source: Line | None = None
    """Record of the bench that measured it; None if the source of the start states it."""


class RecordSource(Model):
    """Where the figures come from."""

    grade: Literal["log", "bench", "metrics", "stated"]
    """`log`: lines of the engine; `bench`: a record of `sparkiac bench`; `metrics`: its page of metrics; `stated`: a
    text that somebody wrote about a start."""
    link: Line
    """URL, or the file that was read."""
    quote: Line | None = None
    """The line with the main figure, as the source prints it."""
    taken: Line | None = None
    """Date of the start, if known."""


class StartRecord(Model):
    """One start of one server."""

    format: Literal["sparkiac start 1"] = "sparkiac start 1"
    subject: StartSubject
    runner: Literal[1, 2] | None = None
    """Model runner of vLLM that served; None if the source does not show it."""
    terms: Terms = Terms.model_construct()
    cached: Cached = Cached.model_construct()
    speeds: tuple[Speed, ...] = ()
    acceptance: Share | None = None
    """Accepted share of the drafted tokens, over all requests that the server counted."""
    source: RecordSource
    notes: tuple[ShortText, ...] = ()


SLOWER: Final = 0.9
"""Share of the best speed below which a later one is reported; two runs over one cable differ by a few percent."""

Gbit = Annotated[float, Field(gt=0, le=100_000)]


class MeasuredSpeed(NamedTuple):
    """A speed that was measured now."""

    source: str
    target: str
    interface: str
    """Interface of the source."""
    tool: str
    gbit: float


class LinkSpeed(Model):
    """What a tool measured between two hosts."""

    source: str
    """Host that sent."""
    target: str
    """Host that received."""
    interface: str
    """Interface of the source."""
    tool: str
    """Program that measured."""
    best_gbit: Gbit
    """Highest speed so far, in Gbit/s."""
    latest_gbit: Gbit
    """Speed of the last run, in Gbit/s."""

    @property
    def slower(self) -> bool:
        """Return whether the last run was slower than the best one by more than runs usually differ."""
        return self.latest_gbit < SLOWER * self.best_gbit


class LinkRecord(Model):
    """The file `<inventory>.links.json`."""

    version: Literal[1] = 1
    """Format of the file."""
    links: tuple[LinkSpeed, ...] = ()
    """Speeds, sorted by hosts, interface and tool."""


def links_text(record: LinkRecord) -> str:
    """Return the text of a record; the same speeds give the same bytes."""
    return json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def updated_links(record: LinkRecord, measured: Iterable[MeasuredSpeed]) -> LinkRecord:
    """Return the record with new speeds; those of links that were not measured now stay."""
    known = {_key(each): each for each in record.links}
    for speed in measured:
        gbit = round(speed.gbit, 2)
        former = known.get(speed[:4])
        best = max(gbit, former.best_gbit) if former else gbit
        known[speed[:4]] = LinkSpeed(
            source=speed.source,
            target=speed.target,
            interface=speed.interface,
            tool=speed.tool,
            best_gbit=best,
            latest_gbit=gbit,
        )
    return LinkRecord(links=tuple(known[key] for key in sorted(known)))


def _key(link: LinkSpeed) -> tuple[str, str, str, str]:
    return link.source, link.target, link.interface, link.tool
