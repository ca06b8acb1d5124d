"""The kinds of layers that keep something between tokens, and the network that they make up. Counts, no bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.memory.values import Unknown

if TYPE_CHECKING:
    from sparkiac.model.facts import Architecture


class Attention(NamedTuple):
    """Keys and values of each token: MHA, GQA, MQA, with a sliding window or without."""

    kv_heads: int
    head_size: int
    """Elements of one key."""
    value_size: int
    """Elements of one value."""
    window: int | None = None
    """Tokens in the sliding window; None if the layer sees the whole context."""


class Latent(NamedTuple):
    """Multi-head latent attention: one vector for each token, the same on every rank."""

    size: int
    """Elements of the compressed keys and values, with the rotary part."""
    packed_bytes: int | None = None
    """Bytes of the vector in FP8, where sparse attention packs it with scales and a rotary part of 16 bits."""


class Rows(NamedTuple):
    """Vectors of a fixed size, whatever the KV dtype: an indexer's keys, compressed keys, a compressor's inputs."""

    size_bytes: int
    tokens: int = 1
    """Tokens that share a vector."""
    window: int | None = None
    """Tokens that are kept; None if all are."""
    block_tokens: int | None = None
    """Tokens of a block; None if as many as in the server's."""
    alignment: int = 1
    """A page's size is a multiple of it."""


class Sparse(NamedTuple):
    """Attention that picks the tokens that it reads: one layer with several caches, in vLLM's order."""

    caches: tuple[Latent | Rows, ...]
    block_tokens: int
    """A block of the server holds a multiple of this, and exactly this where nobody says otherwise."""


class Linear(NamedTuple):
    """Gated DeltaNet: a state of fixed size for each sequence."""

    key_heads: int
    value_heads: int
    key_size: int
    value_size: int
    kernel: int
    """Taps of the convolution before it."""
    checkpoints: tuple[int, ...] = ()
    """vLLM's first release that keeps one more state for prefixes of prompts; empty if none does."""


class Mamba2(NamedTuple):
    """Mamba-2: a state of fixed size for each sequence."""

    heads: int
    head_size: int
    groups: int
    state_size: int
    kernel: int
    """Taps of the convolution before it."""
    checkpoints: tuple[int, ...] = (0, 32)
    """vLLM's first release that keeps one more state for prefixes of prompts."""


Layer = Attention | Latent | Sparse | Linear | Mamba2
State = Linear | Mamba2


class Width(NamedTuple):
    """How wide the network is; None where the facts do not tell."""

    hidden: int | None = None
    vocabulary: int | None = None
    intermediate: int | None = None
    """Inner width of a dense layer; 0 if there is none."""
    expert_intermediate: int | None = None
    """Inner width of one routed expert."""
    experts: int = 0
    """Routed experts of one layer; 0 in a dense network."""
    experts_per_token: int = 0
    expert_layers: int = 0
    """Layers with routed experts."""


class Vision(NamedTuple):
    """How wide the encoder of images is."""

    hidden: int
    intermediate: int
    token_patches: int
    """Patches that the encoder turns into one token."""
    item_tokens: int
    """Tokens of the largest image."""


class Shape(NamedTuple):
    """What of a network decides on its KV cache."""

    layers: tuple[Layer | None, ...]
    """In order; None for a layer that keeps nothing of its own, such as a block of experts."""
    drafts: tuple[Layer, ...] = ()
    """Layers for multi-token prediction in the checkpoint."""
    context: int | None = None
    """Tokens that the checkpoint was trained for."""
    kv_dtype: str | None = None
    """KV dtype that the checkpoint asks for where the engine is not told one."""
    state_dtype: str | None = None
    """Dtype that the checkpoint asks for in the recurrent part of a state."""
    encoders: tuple[str, ...] = ()
    """`vision` and `audio`, as far as the checkpoint has them."""
    vision: Vision | None = None
    """The encoder of images; None where its sizes are not known."""
    width: Width = Width()
    architectures: tuple[str, ...] = ()
    """Classes of the checkpoint, under the names of its config.json."""
    quantized: bool = False
    """Whether the config.json says how the checkpoint was quantized."""

    @property
    def hybrid(self) -> bool:
        """Whether some layers keep a state of fixed size."""
        return any(isinstance(layer, State) for layer in self.layers)

    @property
    def sparse(self) -> Sparse | None:
        """The first layer that picks what it reads."""
        return next((layer for layer in self.layers if isinstance(layer, Sparse)), None)


def shape_of(known: Architecture) -> Shape | Unknown:
    """Return the shape of a network whose config.json is unknown, from the catalog's counts of layers and heads.

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
