"""Profiles: sets of rules from small to large."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import Model, Name, ShortText
from sparkiac.report import Severity


class Profile(Model):
    """One profile; it includes the rules of all smaller profiles."""

    title: ShortText
    """What the profile is for."""
    severity: Literal["error", "warning", "info"]
    """Lowest severity that it includes, for rules that name no profile."""


class Profiles(Model):
    """The profiles, from the smallest to the largest."""

    default: Name
    """Profile that commands use by default."""
    profiles: Annotated[dict[Name, Profile], Field(min_length=1)]
    """Profiles by name."""

    @property
    def floors(self) -> dict[str, Severity]:
        """Return the lowest severity of each profile, from the smallest profile to the largest."""
        return {name: Severity[profile.severity.upper()] for name, profile in self.profiles.items()}
