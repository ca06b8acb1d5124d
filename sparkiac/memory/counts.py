"""Counts of layers and heads, where no config.json is known → the layers in a likely order."""

from __future__ import annotations

from typing import NamedTuple

from sparkiac.memory.layers import Attention, Shape, Width
from sparkiac.memory.values import Unknown


class Counts(NamedTuple):
    """What a recipe says of a network. None where its sources do not tell."""

    layers: int | None = None
    full_attention_layers: int | None = None
    sliding_window_layers: int | None = None
    sliding_window: int | None = None
    linear_attention_layers: int | None = None
    mamba_layers: int | None = None
    mtp_layers: int | None = None
    kv_heads: int | None = None
    head_size: int | None = None
    sliding_window_kv_heads: int | None = None
    sliding_window_head_size: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    native_context: int | None = None


def shaped(counts: Counts) -> Shape | Unknown:
    """Give the shape of a network by its counts.

    Layers of both kinds are spread evenly, which matters for pipeline stages only. No recipe states the size of a
    recurrent state, so a hybrid model is unknown without its config.json.
    """
    missing = _missing(counts)
    if missing:
        return Unknown(missing)
    full = Attention(counts.kv_heads or 0, counts.head_size or 0, counts.head_size or 0)
    size = counts.sliding_window_head_size or full.head_size
    window = Attention(counts.sliding_window_kv_heads or full.kv_heads, size, size, counts.sliding_window)
    order = _spread(counts.full_attention_layers or 0, counts.sliding_window_layers or 0)
    return Shape(
        layers=tuple(full if whole else window for whole in order),
        drafts=(full,) * (counts.mtp_layers or 0),
        context=counts.native_context,
        width=Width(
            experts=counts.experts or 0,
            experts_per_token=counts.experts_per_token or 0,
            expert_layers=len(order) if counts.experts else 0,
        ),
    )


def _missing(counts: Counts) -> tuple[str, ...]:
    wanted = ["full_attention_layers", "kv_heads", "head_size"]
    wanted += ["sliding_window"] if counts.sliding_window_layers else []
    names = [name for name in wanted if getattr(counts, name) is None]
    states = {"linear_attention_layers": "Gated DeltaNet", "mamba_layers": "Mamba-2"}
    names += [f"size of the {kind} state (config.json)" for name, kind in states.items() if getattr(counts, name)]
    return tuple(names)


def _spread(full: int, window: int) -> tuple[bool, ...]:
    count = full + window
    return tuple((index + 1) * full // count > index * full // count for index in range(count))
