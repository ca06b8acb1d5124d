"""Profiles of checks: how much of what sparkiac can find is shown."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import Model, Name, ShortText
from sparkiac.report import Severity


class Profile(Model):
    """One profile. It also has all that the profiles before it have."""

    title: ShortText
    """What it is for."""
    severity: Literal["error", "warning", "info"]
    """Least severity that it shows, of rules that name no profile."""


class Profiles(Model):
    """The profiles, from the smallest to the largest."""

    default: Name
    """Profile that every command uses unless it is told another one."""
    profiles: Annotated[dict[Name, Profile], Field(min_length=1)]
    """Profile by name."""

    @property
    def floors(self) -> dict[str, Severity]:
        """Give the least severity of each profile, from the smallest profile to the largest."""
        return {name: Severity[profile.severity.upper()] for name, profile in self.profiles.items()}
