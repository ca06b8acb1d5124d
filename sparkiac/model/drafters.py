"""Which drafter was trained for which target."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from sparkiac.model.base import ImageReference, Model, ShortText
from sparkiac.model.speculative import Drafter, Tokens


class DrafterPair(Model):
    """A target and its drafter."""

    target: ShortText
    """Model handle of the target."""
    drafter: Drafter | None = None
    """Drafter; nothing where the heads are in the target's own checkpoint, or where no source names one."""
    built_in: bool = False
    """Whether the target's checkpoint holds the heads."""
    alternative: ShortText | None = None
    """Another drafter that the source names."""
    method: Literal["dflash", "mtp", "deepseek_mtp"]
    """The method that it was trained for."""
    num_speculative_tokens: Tokens | None = None
    """Tokens in each step, as the source runs it."""
    image: ImageReference | None = None
    """The image that this pair needs."""
    needs: ShortText | None = None
    """What else it needs."""
    not_before: Annotated[str, StringConstraints(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$")] | None = None
    """Day before which a copy of the drafter must not have been fetched."""
    size: ShortText | None = None
    """Size of the drafter."""
    source: ShortText
    """Where it stands."""


class DrafterTable(Model):
    """The table."""

    pairs: tuple[DrafterPair, ...]
    """All pairs that the sources name."""
