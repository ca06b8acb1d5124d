"""Repositories of recipes that an inventory uses, and their entries in the lock."""

from typing import Literal

from sparkiac.model.base import Commit, GitAddress, GitRef, InsidePath, Model, Sha256


class RecipeSource(Model):
    """A Git repository with recipes."""

    git: GitAddress
    """Address of the repository."""
    revision: GitRef = "HEAD"
    """Branch, tag or commit that `sparkiac recipes fetch` pins; the default branch if omitted."""
    path: InsidePath = "recipes"
    """Folder of the recipes in the repository."""
    format: Literal["sparkiac", "sparkrun", "eugr"] = "sparkiac"
    """Format of the recipes. Those of sparkrun and of eugr/spark-vllm-docker are converted when they are fetched."""


class LockedSource(RecipeSource):
    """One pinned repository of recipes."""

    commit: Commit
    """Commit that the recipes were read from."""
    files: dict[InsidePath, Sha256] = {}
    """SHA-256 of each file below `sources/NAME`."""
