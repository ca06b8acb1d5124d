"""The client of the OCI distribution API: the digests and the configuration of images, and their signatures.

This module has the references of images, which all others use.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sparkiac.model import forms
from sparkiac.model.references import DOCKER_HUB, full, split
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError

_HUB_HOST: Final = "registry-1.docker.io"
"""The host that serves Docker Hub's API."""
HUB_NAMES: Final = frozenset({"index.docker.io", _HUB_HOST})
"""Other names of Docker Hub."""
_DEFAULT_TAG: Final = "latest"


class ImageReference(NamedTuple):
    """An image reference with all the parts that its short form omits."""

    registry: str
    """Host, with the port if there is one: docker.io, nvcr.io, localhost:5000."""
    repository: str
    """Path of the repository: library/nginx, vllm/vllm-openai."""
    tag: str
    """Tag; `latest` if there is neither tag nor digest, empty if there is only a digest."""
    digest: str
    """Digest, or empty. It takes precedence over the tag."""

    @property
    def host(self) -> str:
        """The host of the registry's API."""
        return _HUB_HOST if self.registry == DOCKER_HUB else self.registry

    @property
    def selector(self) -> str:
        """The digest, or the tag if there is none."""
        return self.digest or self.tag

    @property
    def name(self) -> str:
        """Registry and repository."""
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        """Return the full reference."""
        return f"{self.name}{f':{self.tag}' if self.tag else ''}{f'@{self.digest}' if self.digest else ''}"


def parse(text: str) -> ImageReference:
    """Parse a reference. Raises `UpstreamError` if it is invalid."""
    if not re.fullmatch(forms.IMAGE, text):
        raise UpstreamError(errors.NO_IMAGE, f"{text!r} is not {forms.FORMS[forms.IMAGE]}")
    tagged, _, digest = text.partition("@")
    repository, tag = split(tagged)
    first, slash, rest = repository.partition("/")
    registry, _, path = full(f"{DOCKER_HUB}/{rest}" if slash and first in HUB_NAMES else repository).partition("/")
    return ImageReference(registry, path, tag or ("" if digest else _DEFAULT_TAG), digest)
