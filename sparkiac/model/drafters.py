"""The table of drafters: which drafter was trained for which target model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from sparkiac.model.base import ImageReference, Model, ShortText
from sparkiac.model.speculative import Drafter, Tokens


class DrafterPair(Model):
    """A target model and its drafter."""

    target: ShortText
    """Model handle of the target model."""
    drafter: Drafter | None = None
    """Drafter; omitted if the target's own checkpoint contains the heads, or if no source names a drafter."""
    built_in: bool = False
    """Whether the checkpoint of the target contains the heads."""
    alternative: ShortText | None = None
    """Another drafter that the source names."""
    method: Literal["dflash", "mtp", "deepseek_mtp"]
    """Method of speculative decoding that the drafter was trained for."""
    num_speculative_tokens: Tokens | None = None
    """Tokens that are proposed in each step, as in the source."""
    image: ImageReference | None = None
    """Image that this pair requires."""
    needs: ShortText | None = None
    """Other requirements of this pair."""
    not_before: Annotated[str, StringConstraints(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$")] | None = None
    """First day with a usable version of the drafter: a copy downloaded before must be downloaded again."""
    size: ShortText | None = None
    """Size of the drafter, with its unit."""
    source: ShortText
    """Source of these facts."""


class DrafterTable(Model):
    """The table of all pairs."""

    pairs: tuple[DrafterPair, ...]
    """Pairs of target and drafter that the sources name."""
