"""Settings of speculative decoding, with one class for each method.

The keys are those of vLLM's speculative_config (docs.vllm.ai, "Speculative Decoding"). Each engine translates them
into its own options.
"""

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import AbsolutePath, ModelHandle, Shared, Word

Drafter = ModelHandle | AbsolutePath
"""A repository on the model hub, or a path in the container."""
Tokens = Annotated[int, Field(ge=1, le=64)]


class _Method(Shared):
    num_speculative_tokens: Tokens | None = None
    """Tokens that are proposed in each step."""


class _WithDrafter(_Method):
    attention_backend: Word | None = None
    """Attention backend of the drafter."""
    moe_backend: Word | None = None
    """MoE backend of the drafter."""
    draft_tensor_parallel_size: Annotated[int, Field(ge=1)] | None = None
    """Tensor parallel size of the drafter."""
    draft_sample_method: Word | None = None
    """How the drafter selects its tokens: `greedy` or `probabilistic` in vLLM."""
    quantization: Word | None = None
    """Quantization of the drafter, if its checkpoint does not state it."""


class Ngram(_Method):
    """Proposes tokens that it finds in the prompt; needs no drafter."""

    method: Literal["ngram"]
    """Method of speculative decoding."""
    prompt_lookup_min: Tokens | None = None
    """Length of the shortest n-gram to look up, in tokens."""
    prompt_lookup_max: Tokens | None = None
    """Length of the longest n-gram to look up, in tokens."""


class Suffix(_Method):
    """Proposes tokens from a suffix tree over earlier output; needs no drafter."""

    method: Literal["suffix"]
    """Method of speculative decoding."""


class Mtp(_WithDrafter):
    """Multi-token prediction, with MTP heads in the checkpoint itself or with a paired drafter."""

    method: Literal["mtp", "deepseek_mtp"]
    """Method of speculative decoding."""
    model: Drafter | None = None
    """Paired drafter; omit it if the checkpoint has its own MTP heads."""


class Dflash(_WithDrafter):
    """A block-diffusion drafter that was trained for one target model."""

    method: Literal["dflash"]
    """Method of speculative decoding."""
    model: Drafter | None = None
    """Drafter; default is the catalog's drafter for the target model."""


class Dspark(_WithDrafter):
    """A drafter for DeepSeek models that proposes a block of tokens at once."""

    method: Literal["dspark"]
    """Method of speculative decoding."""
    model: Drafter | None = None
    """Drafter; omit it if the checkpoint contains one."""


class Drafted(_WithDrafter):
    """A separate drafter: an EAGLE head, or a small model of the same family."""

    method: Literal["eagle", "eagle3", "draft_model"]
    """Method of speculative decoding."""
    model: Drafter
    """Drafter."""


Speculative = Annotated[Ngram | Suffix | Mtp | Dflash | Dspark | Drafted, Field(discriminator="method")]
