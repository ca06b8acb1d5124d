"""Speculative decoding: how tokens are guessed ahead, one model for each method.

Names are those of vLLM's speculative_config (docs.vllm.ai, "Speculative Decoding"); the engine writes them in its
own form.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import AbsolutePath, Model, ModelHandle, Word

Drafter = ModelHandle | AbsolutePath
"""A repository of the model hub, or a path inside the container."""
Tokens = Annotated[int, Field(ge=1, le=64)]


class _Method(Model):
    num_speculative_tokens: Tokens | None = None
    """Tokens guessed in each step."""


class _Drafted(_Method):
    attention_backend: Word | None = None
    """Attention backend of the drafter alone."""
    moe_backend: Word | None = None
    """MoE backend of the drafter alone."""
    draft_tensor_parallel_size: Annotated[int, Field(ge=1)] | None = None
    """GPUs that the drafter is spread over."""
    draft_sample_method: Word | None = None
    """How the drafter picks its tokens: vLLM knows `greedy` and `probabilistic`."""
    quantization: Word | None = None
    """Quantization of the drafter, where its checkpoint does not say it."""


class Ngram(_Method):
    """Guesses are looked up in the prompt; no drafter."""

    method: Literal["ngram"]
    """The method."""
    prompt_lookup_min: Tokens | None = None
    """Shortest run of tokens that is looked up."""
    prompt_lookup_max: Tokens | None = None
    """Longest run of tokens that is looked up."""


class Suffix(_Method):
    """Guesses come from a suffix tree over former output; no drafter."""

    method: Literal["suffix"]
    """The method."""


class Mtp(_Drafted):
    """Multi-token prediction: heads in the checkpoint itself, or a paired drafter."""

    method: Literal["mtp", "deepseek_mtp"]
    """The method."""
    model: Drafter | None = None
    """Paired drafter; nothing where the checkpoint has its own heads."""


class Dflash(_Drafted):
    """A block-diffusion drafter that was trained for one target."""

    method: Literal["dflash"]
    """The method."""
    model: Drafter | None = None
    """Drafter; the one that the catalog knows for the target unless said otherwise."""


class Dspark(_Drafted):
    """A drafter of DeepSeek's kind that guesses a block of tokens at once."""

    method: Literal["dspark"]
    """The method."""
    model: Drafter | None = None
    """Drafter; nothing where the checkpoint has its own."""


class Drafted(_Drafted):
    """A drafter of its own: an EAGLE head, or a small model of the same family."""

    method: Literal["eagle", "eagle3", "draft_model"]
    """The method."""
    model: Drafter
    """The drafter."""


Speculative = Annotated[Ngram | Suffix | Mtp | Dflash | Dspark | Drafted, Field(discriminator="method")]
