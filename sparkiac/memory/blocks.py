"""How vLLM divides its pool: layers form groups, and each block belongs to one group at a time.

A block holds a page of each layer of a group, so the widest group sets its size. Follows
`kv_cache_utils.py` of vLLM 0.15.1, 0.19.0, 0.23.0 and 0.32.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sparkiac.memory import packed
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.pages import CachePage, paged, unified
from sparkiac.memory.values import Unknown, ceil_div, unknown_of

_TOKENS_BY_REQUEST: Final = (0, 20, 1)
_KEEPS_ONE_BLOCK: Final = (0, 29)
_RETAINS_FOR_DRAFTS: Final = (0, 28)


class CacheGroup(NamedTuple):
    """Layers that share block IDs."""

    kind: str
    """`full`, `window` or `state`."""
    layers: int
    block_tokens: int
    request_blocks: int
    """Blocks of one full-length request."""


class Cache(NamedTuple):
    """Layout of the KV cache of one rank, for a pool of any size."""

    context: int
    """Maximum tokens of a request."""
    block_bytes: int
    """Bytes of one block on the rank with the most layers of a group."""
    groups: tuple[CacheGroup, ...]
    token_bytes: int
    """Bytes of one more token of a long request in all layers that keep it, without padding."""
    state_bytes: int
    """Bytes of one request's windows and states in all layers, without padding."""
    release: tuple[int, ...]
    counted_blocks: int
    """Blocks of one full-length request as the log counts them; a few releases miscount some models."""

    @property
    def request_blocks(self) -> int:
        """Blocks of one full-length request."""
        return sum(group.request_blocks for group in self.groups)

    @property
    def request_bytes(self) -> int:
        """Bytes of one full-length request."""
        return self.request_blocks * self.block_bytes

    @property
    def block_tokens(self) -> int:
        """Tokens of the shortest block; in a hybrid model, the "attention block size" of the log."""
        return min((group.block_tokens for group in self.groups), default=0)

    def blocks(self, pool_bytes: int) -> int:
        """Return the blocks of a pool: "# GPU blocks" in the log."""
        return max(0, pool_bytes) // self.block_bytes

    def tokens(self, pool_bytes: int) -> int:
        """Return the tokens that the log states for a pool.

        Since 0.20.1, vLLM counts them in full-length requests. Earlier releases divide the blocks by the groups as
        if each group grew with the context: too few tokens for models with windows or states.
        """
        blocks = self.blocks(pool_bytes)
        if self.release < _TOKENS_BY_REQUEST:
            return blocks // len(self.groups) * self.block_tokens
        return int(blocks / self.counted_blocks * self.context)

    def concurrency(self, pool_bytes: int) -> float:
        """Return the concurrent full-length requests of a pool as the log counts them."""
        return self.blocks(pool_bytes) / self.counted_blocks

    def requests(self, pool_bytes: int) -> float:
        """Return the concurrent full-length requests that really fit into a pool."""
        return self.blocks(pool_bytes) / self.request_blocks

    def pool_bytes(self, requests: int) -> int:
        """Return the smallest pool for a number of concurrent full-length requests.

        Since 0.29, vLLM's check subtracts the one block that it never assigns.
        """
        spare = 1 if self.release >= _KEEPS_ONE_BLOCK else 0
        return (requests * self.request_blocks + spare) * self.block_bytes


@lru_cache(maxsize=1 << 10)  # a fleet repeats its servers
def cache(shape: Shape, options: ServerOptions, *, speculation: Speculation | None = None) -> Cache | Unknown:
    """Return the KV cache of a vLLM server on each rank.

    Unknown lists the missing facts, or why this release cannot put these layers into one pool.
    """
    context = options.max_model_len or shape.context
    if not context:
        return Unknown(("max_model_len",))
    found = paged(shape, options, speculation)
    if not found:
        return Unknown(("layers with a KV cache or a state",))
    grouped = found if isinstance(found, Unknown) else _grouped(found, options.release)
    if isinstance(found, Unknown) or isinstance(grouped, Unknown):
        return unknown_of(found, grouped) or Unknown(())
    held = _CacheRequest(context, options, shape, speculation)
    groups = tuple(_group(group, held) for group in grouped)
    return Cache(
        context=context,
        block_bytes=max(_stage_bytes(grouped, stage, options.release) for stage in {page.stage for page in found}),
        groups=groups,
        token_bytes=sum(page.content_bytes for page in found if page.kind == "full"),
        state_bytes=sum(_fixed_bytes(page, context) for page in found),
        release=options.release,
        counted_blocks=_counted_blocks(grouped, groups, options.release),
    )


class _CacheRequest(NamedTuple):
    context: int
    options: ServerOptions
    shape: Shape
    speculation: Speculation | None


def _grouped(found: Sequence[CachePage], release: tuple[int, ...]) -> tuple[tuple[CachePage, ...], ...] | Unknown:
    if any(page.beside for page in found):
        return packed.grouped(found, release)
    pages = unified(found, release)
    if isinstance(pages, Unknown):
        return pages
    if len({(page.kind, page.window) for page in pages}) == 1:
        return (tuple(pages),)
    alike: dict[tuple[object, ...], list[CachePage]] = {}
    for page in pages:
        alike.setdefault(page[1:], []).append(page)
    size = _group_size([len(group) for group in alike.values()])
    return tuple(
        tuple(group[first :: ceil_div(len(group), size)])
        for group in alike.values()
        for first in range(ceil_div(len(group), size))
    )


def _group_size(counts: Sequence[int]) -> int:
    # The rarest kind sets the size, unless the most frequent kind has less than 1.5 times as many layers: with 12
    # windows and 13 full layers, this pads fewer layers.
    return max(counts) if max(counts) * 2 < min(counts) * 3 else min(counts)


def _stage_bytes(grouped: Sequence[Sequence[CachePage]], stage: int, release: tuple[int, ...]) -> int:
    held = [tuple(page for page in group if page.stage == stage) for group in grouped]
    if any(page.beside for group in held for page in group):
        return packed.block_bytes(held, release)
    return max(sum(page.size_bytes for page in group) for group in held)


def _counted_blocks(
    grouped: Sequence[tuple[CachePage, ...]], groups: Sequence[CacheGroup], release: tuple[int, ...]
) -> int:
    blocks = [group.request_blocks for group in groups]
    return packed.counted_blocks(grouped, blocks, release) if grouped[0][0].beside else sum(blocks)


def _group(pages: Sequence[CachePage], held: _CacheRequest) -> CacheGroup:
    blocks = max(_request_blocks(page, held) for page in pages)
    return CacheGroup(pages[0].kind, len(pages), pages[0].block_tokens, blocks)


def _request_blocks(page: CachePage, held: _CacheRequest) -> int:
    if page.kind == "state":
        kept = 2 + page.checkpoints if held.options.mamba_mode(held.shape) == "align" else 1
        return kept + (held.speculation.tokens if held.speculation else 0)
    if page.kind == "full":
        return ceil_div(held.context, page.block_tokens)
    # A window can start inside a block, so one more block is needed.
    tokens = min(page.window - 1 + _retained_tokens(held) + held.options.in_flight_tokens, held.context)
    return ceil_div(tokens, page.block_tokens) + 1


def _retained_tokens(held: _CacheRequest) -> int:
    """Return the additional tokens that windows keep because several MTP layers read the last tokens again."""
    drafts = held.speculation
    several = drafts is not None and drafts.predicts and min(len(held.shape.drafts), drafts.tokens) > 1
    return drafts.tokens - 1 if drafts and several and held.options.release >= _RETAINS_FOR_DRAFTS else 0


def _fixed_bytes(page: CachePage, context: int) -> int:
    if page.kind == "full":
        return 0
    return page.content_bytes * (min(page.window, context) if page.kind == "window" else 1)
