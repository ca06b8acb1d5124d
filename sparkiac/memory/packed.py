"""Blocks that hold pages of several sizes, as in DeepSeek-V4.

Follows `kv_cache_utils.py` of vLLM 0.20.2 to 0.32.0, which built these blocks in four ways. Layers with the same window
and block length need the same number of blocks: they are a bucket. A bucket is split into groups, so that a group fits
into the block that the full-attention layers need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sparkiac.memory.pages import CachePage
from sparkiac.memory.values import Unknown, ceil_div

Group = tuple[CachePage, ...]

_FIRST: Final = (0, 20)
_SIZES_SHARED: Final = (0, 24)
"""Since this release groups share page sizes only; earlier ones have all sizes in equal numbers."""
_OVERLAID: Final = (0, 27)
"""Since this release groups overlap, with pages of any size, and the log counts blocks."""
_BY_ANCHOR: Final = (0, 29)
"""From this release on, full-attention layers are no special case."""


def grouped(pages: Sequence[CachePage], release: tuple[int, ...]) -> tuple[Group, ...] | Unknown:
    """Return the groups of layers that share block IDs. Unknown lists what this release cannot pack."""
    if release < _FIRST:
        return Unknown((f"compressed attention: vLLM {'.'.join(map(str, release))} does not support it",))
    buckets = _buckets(pages)
    if len(buckets) == 1:
        return tuple(buckets)
    if release >= _BY_ANCHOR:
        return tuple(group for bucket in buckets for group in _split(bucket, _count(bucket, buckets)))
    whole = next(bucket for bucket in buckets if bucket[0].kind == "full")
    windows = [bucket for bucket in buckets if bucket[0].kind != "full"]
    if release < _OVERLAID:
        sizes = sorted({page.size_bytes for page in whole})
        if max(page.size_bytes for page in pages) > sizes[-1]:
            return Unknown(("a layer without a sliding window whose page is at least as large as all others",))
        windows = [_padded(bucket, sizes) for bucket in windows]
    depth = _least_padding([_depth(bucket) for bucket in (whole, *windows)], least=_depth(whole))
    return (whole, *(group for bucket in windows for group in _split(bucket, ceil_div(_depth(bucket), depth))))


def block_bytes(groups: Iterable[Group], release: tuple[int, ...]) -> int:
    """Return the bytes of one block of these groups, on the rank that holds their pages."""
    held = [_counts(group) for group in groups]
    if release >= _OVERLAID:
        return max(sum(size * count for size, count in counts.items()) for counts in held)
    most = {size: max(counts.get(size, 0) for counts in held) for counts in held for size in counts}
    if release >= _SIZES_SHARED:
        return sum(size * count for size, count in most.items())
    return sum(held[0]) * max(most.values())


def counted_blocks(groups: Sequence[Group], blocks: Sequence[int], release: tuple[int, ...]) -> int:
    """Return the blocks of one request as the log counts them, if each group needs `blocks`."""
    if release >= _OVERLAID:
        return sum(blocks)
    # Bytes of the first layer of each group, in pages of the first group.
    taken = sum(count * group[0].size_bytes for group, count in zip(groups, blocks, strict=True))
    return ceil_div(taken, groups[0][0].size_bytes)


def _buckets(pages: Iterable[CachePage]) -> list[Group]:
    found: dict[tuple[object, ...], list[CachePage]] = {}
    for page in pages:
        found.setdefault((page.kind, page.window, page.block_tokens), []).append(page)
    return [tuple(bucket) for bucket in found.values()]


def _counts(group: Group) -> dict[int, int]:
    found: dict[int, int] = {}
    for page in group:
        found[page.size_bytes] = found.get(page.size_bytes, 0) + 1
    return found


def _depth(bucket: Group) -> int:
    return max(_counts(bucket).values())


def _even(bucket: Group) -> bool:
    return len(set(_counts(bucket).values())) == 1


def _count(bucket: Group, buckets: Sequence[Group]) -> int:
    """Return into how many groups with equally many layers vLLM divides layers of one kind."""
    depths = [_depth(each) for each in buckets if _even(each)]
    # Layers with pages of several sizes stay together, so they set the minimum depth of a group.
    least = max((_depth(each) for each in buckets if _even(each) and len(_counts(each)) > 1), default=0)
    if least:
        return ceil_div(_depth(bucket), _least_padding(depths, least=least)) if _even(bucket) else 1
    if bucket[0].kind == "full":
        return 1
    anchor = max(_widest(each) for each in buckets)
    return ceil_div(len(bucket), max(1, anchor // bucket[0].size_bytes))


def _widest(bucket: Group) -> int:
    # Layers with a window can end up in one group each.
    groups = len(bucket) if bucket[0].kind != "full" else 1
    return sum(size * ceil_div(count, groups) for size, count in _counts(bucket).items())


def _least_padding(depths: Sequence[int], *, least: int) -> int:
    """Return the depth of a group with the least padding; if several are equal, the largest."""
    return min(range(least, max(depths) + 1), key=lambda depth: (sum(-each % depth for each in depths), -depth))


def _padded(bucket: Group, sizes: Sequence[int]) -> Group:
    return tuple(page._replace(size_bytes=next(size for size in sizes if size >= page.size_bytes)) for page in bucket)


def _split(bucket: Group, groups: int) -> list[Group]:
    if groups == 1:
        return [bucket]
    by_size: dict[int, list[CachePage]] = {}
    for page in bucket:
        by_size.setdefault(page.size_bytes, []).append(page)
    layers = list(zip(*by_size.values(), strict=True))
    return [tuple(page for layer in layers[first::groups] for page in layer) for first in range(groups)]
