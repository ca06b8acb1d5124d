"""Blocks in which pages of several sizes lie side by side, as DeepSeek-V4 has them.

Follows `kv_cache_utils.py` of vLLM 0.20.2 to 0.32.0, which has drawn these blocks in four ways. Layers of one window
and one length of block need as many blocks as each other: they are a bucket. A bucket is split into groups, so that a
group fits into the block that the layers of the whole context need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.memory.values import Unknown, parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sparkiac.memory.pages import CachePage

    Group = tuple[CachePage, ...]

_FIRST: Final = (0, 20)
_SIZES_SHARED: Final = (0, 24)
"""From here on only the sizes of pages are shared between groups; before, all sizes in equal numbers."""
_OVERLAID: Final = (0, 27)
"""From here on groups lie over each other, whatever the sizes of their pages, and the log counts blocks."""
_BY_ANCHOR: Final = (0, 29)
"""From here on the layers of the whole context have no special place."""


def grouped(pages: Sequence[CachePage], release: tuple[int, ...]) -> tuple[Group, ...] | Unknown:
    """Give the groups of layers that share the ids of their blocks. Unknown says what this release cannot pack."""
    if release < _FIRST:
        return Unknown((f"compressed attention: vLLM {'.'.join(map(str, release))} has none",))
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
            return Unknown(("a page as large as the largest one of the whole context",))
        windows = [_padded(bucket, sizes) for bucket in windows]
    depth = _least_padding([_depth(bucket) for bucket in (whole, *windows)], least=_depth(whole))
    return (whole, *(group for bucket in windows for group in _split(bucket, parts(_depth(bucket), depth))))


def block_bytes(groups: Iterable[Group], release: tuple[int, ...]) -> int:
    """Give the bytes of one block of these groups, on the rank that holds their pages."""
    held = [_counts(group) for group in groups]
    if release >= _OVERLAID:
        return max(sum(size * count for size, count in counts.items()) for counts in held)
    most = {size: max(counts.get(size, 0) for counts in held) for counts in held for size in counts}
    if release >= _SIZES_SHARED:
        return sum(size * count for size, count in most.items())
    return sum(held[0]) * max(most.values())


def counted_blocks(groups: Sequence[Group], blocks: Sequence[int], release: tuple[int, ...]) -> int:
    """Give the blocks of one request as the log counts them, where each group takes `blocks`."""
    if release >= _OVERLAID:
        return sum(blocks)
    # Bytes of each group's first layer, by the page of the very first one.
    taken = sum(count * group[0].size_bytes for group, count in zip(groups, blocks, strict=True))
    return parts(taken, groups[0][0].size_bytes)


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
    """Give the groups into which a bucket is split."""
    depths = [_depth(each) for each in buckets if _even(each)]
    # Layers with pages of several sizes stay together, so that they set the least depth of a group.
    least = max((_depth(each) for each in buckets if _even(each) and len(_counts(each)) > 1), default=0)
    if least:
        return parts(_depth(bucket), _least_padding(depths, least=least)) if _even(bucket) else 1
    if bucket[0].kind == "full":
        return 1
    anchor = max(_widest(each) for each in buckets)
    return parts(len(bucket), max(1, anchor // bucket[0].size_bytes))


def _widest(bucket: Group) -> int:
    # A window's layers may end up one to a group.
    groups = len(bucket) if bucket[0].kind != "full" else 1
    return sum(size * parts(count, groups) for size, count in _counts(bucket).items())


def _least_padding(depths: Sequence[int], *, least: int) -> int:
    """Give the depth of a group that leaves the fewest places empty; of several, the deepest."""
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
