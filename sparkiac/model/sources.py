"""Repositories of recipes that an inventory uses, and their entries in the lock."""

from typing import Literal, Self

from pydantic import model_validator

from sparkiac.model.base import Commit, Digest, GitAddress, GitRef, ImageReference, InsidePath, Model, Sha256


class RecipeSource(Model):
    """A Git repository or an OCI artifact with recipes."""

    git: GitAddress | None = None
    """Address of a Git repository. A source has either `git` or `oci`."""
    oci: ImageReference | None = None
    """Reference of an artifact in an OCI registry: the tag that `sparkiac recipes fetch` pins, or a digest."""
    revision: GitRef = "HEAD"
    """With `git`: branch, tag or commit that `sparkiac recipes fetch` pins; the default branch if omitted."""
    path: InsidePath = "recipes"
    """Folder of the recipes in the repository or artifact."""
    format: Literal["sparkiac", "sparkrun", "eugr"] = "sparkiac"
    """Format of the recipes. Those of sparkrun and of eugr/spark-vllm-docker are converted when they are fetched."""

    @property
    def address(self) -> str:
        """Return the address of the repository, or the reference of the artifact."""
        return self.git or self.oci or ""

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.git is None) == (self.oci is None):
            message = "a source has either git, the address of a repository, or oci, the reference of an artifact"
            raise ValueError(message)
        if self.oci and "revision" in self.model_fields_set:
            raise ValueError("revision is for git alone; oci contains the tag or the digest: registry/repository:tag")
        return self


class LockedSource(RecipeSource):
    """One pinned repository or artifact with recipes."""

    commit: Commit | None = None
    """Commit of the Git repository that the recipes were read from."""
    digest: Digest | None = None
    """Digest of the manifest of the OCI artifact that the recipes were read from."""
    files: dict[InsidePath, Sha256] = {}
    """SHA-256 of each file below `sources/NAME`."""

    @property
    def pin(self) -> str:
        """Return the commit or the digest."""
        return self.commit or self.digest or ""

    @model_validator(mode="after")
    def _has_its_pin(self) -> Self:
        if (self.commit is None) != (self.git is None) or (self.digest is None) != (self.oci is None):
            raise ValueError("a source with git is pinned by commit, a source with oci by digest")
        return self
