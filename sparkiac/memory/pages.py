"""Page of each layer in a block of vLLM's pool, padded so that all pages have one size.

Follows `kv_cache_utils.py` and `platforms/interface.py` of vLLM 0.15.1, 0.19.0, 0.23.0 and 0.32.0; where releases
differ, the code names the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sparkiac.memory.kv import Format, kv_format, state_bytes, token_bytes
from sparkiac.memory.layers import Attention, Latent, Layer, Linear, Mamba2, Rows, Shape, Sparse, State
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import Unknown, ceil_div, unknown_of

_PADS_ANY_PAGE: Final = (0, 24)
_ALIGNS_TO_BLOCK: Final = (0, 20)
_ALIGNS_LATENT: Final = (0, 27)
_BLOCK_TOKENS: Final = 16
"""Default block size in tokens."""
_WINDOWS_HAVE_VALUES: Final = (0, 20)
"""Earlier releases assume that the values of a window are as wide as its keys."""
_TRAINED: Final = frozenset({"eagle", "eagle3", "dflash", "dspark", "draft_model"})
_WITHOUT_LAYERS: Final = frozenset({"ngram", "ngram_gpu", "suffix"})


class CachePage(NamedTuple):
    """Page of one layer in a block."""

    stage: int
    """Pipeline stage of the layer."""
    kind: str
    """`full`, `window` or `state`."""
    block_tokens: int
    """Tokens in one page."""
    size_bytes: int
    content_bytes: int
    """Bytes of one token or one state, without padding."""
    window: int = 0
    """Tokens in the sliding window."""
    latent: bool = False
    """Whether the page cannot be padded, because the attention kernel reads it in whole rows of tokens."""
    checkpoints: int = 0
    """Additional states of one request for prefix caching."""
    beside: bool = False
    """Whether a block also holds pages of other sizes."""


class _BlockLayout(NamedTuple):
    tokens: int
    state_bytes: int
    padded_bytes: int
    kept: Format
    options: ServerOptions


def paged(shape: Shape, options: ServerOptions, speculation: Speculation | None) -> tuple[CachePage, ...] | Unknown:
    """Return the pages of all layers, including those of the drafter. Unknown lists the missing facts."""
    drafts = _drafts(shape, speculation)
    kept = kv_format(shape, options)
    if isinstance(drafts, Unknown) or isinstance(kept, Unknown):
        return unknown_of(drafts, kept) or Unknown(())
    stages = _stages(len(shape.layers), options.pipeline_parallel_size)
    placed = [*zip(stages, shape.layers, strict=True), *((stages[-1], layer) for layer in drafts)]
    tokens = speculation.tokens if speculation else 0
    states = [_state(layer, shape, options, tokens) for layer in shape.layers if isinstance(layer, (Linear, Mamba2))]
    wrong = unknown_of(*states)
    if wrong:
        return wrong
    largest = max((size for size in states if isinstance(size, int)), default=0)
    block = _block(shape, options, kept, largest)
    if isinstance(block, Unknown):
        return block
    return tuple(page for stage, layer in placed if layer for page in _pages(layer, stage, block))


def unified(pages: Sequence[CachePage], release: tuple[int, ...]) -> tuple[CachePage, ...] | Unknown:
    """Return the pages with one size, if layers of several kinds share a pool."""
    if len({(page.kind, page.window) for page in pages}) == 1:
        return tuple(pages)
    size = max(page.size_bytes for page in pages)
    refused = [page for page in pages if size % page.size_bytes and not _can_pad(page, release)]
    if refused:
        numbers = ".".join(map(str, release))
        return Unknown(
            (f"one page size for all layers: vLLM {numbers} refuses {refused[0].size_bytes} in {size} bytes",)
        )
    return tuple(_grown(page, size) for page in pages)


def _can_pad(page: CachePage, release: tuple[int, ...]) -> bool:
    return release >= _PADS_ANY_PAGE and not page.latent


def _grown(page: CachePage, size: int) -> CachePage:
    # A page that fits in several times becomes a longer block. A state cannot grow, so the rest is padding.
    if page.kind == "state" or size % page.size_bytes:
        return page._replace(size_bytes=size)
    return page._replace(size_bytes=size, block_tokens=page.block_tokens * (size // page.size_bytes))


def _drafts(shape: Shape, speculation: Speculation | None) -> tuple[Layer, ...] | Unknown:
    if speculation is None or speculation.method in _WITHOUT_LAYERS:
        return ()
    method, drafter = speculation.method, speculation.drafter
    if speculation.predicts:
        # A separate model with `mtp` is Gemma 4's assistant, which reads the cache of the target and has none.
        found = shape.drafts or (() if drafter else None)
    else:
        found = tuple(layer for layer in drafter.layers if layer) if method in _TRAINED and drafter else None
    return Unknown((f"layers of the drafter ({method})",)) if found is None else found


def _stages(layers: int, stages: int) -> tuple[int, ...]:
    # Remaining layers go to the stages before the last one, from the back (vLLM, get_pp_indices).
    counts = [layers // stages] * stages
    for place in range(2, layers % stages + 2):
        counts[-place] += 1
    return tuple(stage for stage, count in enumerate(counts) for _ in range(count))


def _state(layer: Linear | Mamba2, shape: Shape, options: ServerOptions, tokens: int) -> int | Unknown:
    if options.mamba_mode(shape) == "all":
        return Unknown(("mamba_cache_mode: all",))
    return state_bytes(layer, shape=shape, options=options, speculative_tokens=tokens)


def _block(shape: Shape, options: ServerOptions, kept: Format, state: int) -> _BlockLayout | Unknown:
    # A page of attention must hold a whole state: hybrid models have longer blocks and padded states.
    full, wanted = _whole_context(shape), shape.sparse.block_tokens if shape.sparse else _BLOCK_TOKENS
    least = options.block_size or wanted
    if shape.sparse and least % wanted:
        return Unknown((f"block_size: a multiple of {wanted} for sparse attention",))
    if not state or full is None:
        return _BlockLayout(least, state, state, kept, options)
    one = token_bytes(full, kept=kept, ranks=options.tensor_parallel_size)
    aligned = options.release >= _ALIGNS_TO_BLOCK
    step = _latent_step(options.release) if isinstance(full, Latent) else 16
    step = max(step, least) if aligned else step
    tokens = max(least, step * ceil_div(state, step * one))
    return _BlockLayout(tokens, state, tokens * one, kept, options)


def _latent_step(release: tuple[int, ...]) -> int:
    if release < _ALIGNS_TO_BLOCK:
        return 64
    return 128 if release >= _ALIGNS_LATENT else 16


def _whole_context(shape: Shape) -> Attention | Latent | None:
    layers = (layer for layer in shape.layers if isinstance(layer, (Attention, Latent)))
    return next((layer for layer in layers if isinstance(layer, Latent) or layer.window is None), None)


def _pages(layer: Layer, stage: int, block: _BlockLayout) -> Iterator[CachePage]:
    for cache in layer.caches if isinstance(layer, Sparse) else (layer,):
        yield _rows(cache, stage, block) if isinstance(cache, Rows) else _page(cache, stage, block)


def _rows(rows: Rows, stage: int, block: _BlockLayout) -> CachePage:
    tokens = rows.block_tokens or block.tokens
    size = rows.alignment * ceil_div(tokens // rows.tokens * rows.size_bytes, rows.alignment)
    kind = "full" if rows.window is None else "window"
    content = ceil_div(rows.size_bytes, rows.tokens)
    return CachePage(
        stage, kind, tokens, size, content, window=rows.window or 0, latent=True, beside=rows.alignment > 1
    )


def _page(layer: Attention | Latent | State, stage: int, block: _BlockLayout) -> CachePage:
    if isinstance(layer, (Linear, Mamba2)):
        checkpoints = int(bool(layer.checkpoints) and block.options.release >= layer.checkpoints)
        return CachePage(stage, "state", block.tokens, block.padded_bytes, block.state_bytes, checkpoints=checkpoints)
    if isinstance(layer, Attention) and layer.window and block.options.release < _WINDOWS_HAVE_VALUES:
        layer = layer._replace(value_size=layer.head_size)
    one = token_bytes(layer, kept=block.kept, ranks=block.options.tensor_parallel_size)
    window = layer.window if isinstance(layer, Attention) else None
    kind = "full" if window is None else "window"
    return CachePage(stage, kind, block.tokens, one * block.tokens, one, window or 0, isinstance(layer, Latent))
