"""Architecture from the catalog → shape of the network, for models whose config.json is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.memory.layers import Attention, Shape, Width
from sparkiac.memory.values import Unknown

if TYPE_CHECKING:
    from sparkiac.model.facts import Architecture


def shape_of(known: Architecture) -> Shape | Unknown:
    """Return the shape of a network, from its counts of layers and heads.

    Layers of both kinds are spread evenly, which only matters for pipeline stages. No recipe states the size of a
    recurrent state, so a hybrid model is unknown without its config.json.
    """
    missing = _missing(known)
    if missing:
        return Unknown(missing)
    full = Attention(known.kv_heads or 0, known.head_size or 0, known.head_size or 0)
    size = known.sliding_window_head_size or full.head_size
    window = Attention(known.sliding_window_kv_heads or full.kv_heads, size, size, known.sliding_window)
    order = _spread(known.full_attention_layers or 0, known.sliding_window_layers or 0)
    return Shape(
        layers=tuple(full if whole else window for whole in order),
        drafts=(full,) * (known.mtp_layers or 0),
        context=known.native_context,
        width=Width(
            experts=known.experts or 0,
            experts_per_token=known.experts_per_token or 0,
            expert_layers=len(order) if known.experts else 0,
        ),
    )


def _missing(known: Architecture) -> tuple[str, ...]:
    required = ["full_attention_layers", "kv_heads", "head_size"]
    required += ["sliding_window"] if known.sliding_window_layers else []
    names = [name for name in required if getattr(known, name) is None]
    states = {"linear_attention_layers": "Gated DeltaNet", "mamba_layers": "Mamba-2"}
    names += [f"size of the {kind} state (config.json)" for name, kind in states.items() if getattr(known, name)]
    return tuple(names)


def _spread(full: int, window: int) -> tuple[bool, ...]:
    count = full + window
    return tuple((index + 1) * full // count > index * full // count for index in range(count))
