"""Image references, as inventories and recipes write them: which registry, which repository, which tag or digest."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sparkiac.model import forms
from sparkiac.model.references import DOCKER_HUB, full, split
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import codes

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1"})
"""Names of this machine."""
_HUB_HOST: Final = "registry-1.docker.io"
"""The host that answers for Docker Hub."""
HUB_NAMES: Final = frozenset({"index.docker.io", _HUB_HOST})
"""Other names of Docker Hub."""
_DEFAULT_TAG: Final = "latest"


class Reference(NamedTuple):
    """A reference with everything said that its short form leaves out."""

    registry: str
    """Host, with its port if one is written: docker.io, nvcr.io, localhost:5000."""
    repository: str
    """Path of the repository: library/nginx, vllm/vllm-openai."""
    tag: str
    """The tag; `latest` where neither tag nor digest is written, nothing where only a digest is."""
    digest: str
    """The digest, or nothing. It decides, whatever the tag says."""

    @property
    def host(self) -> str:
        """The host to ask."""
        return _HUB_HOST if self.registry == DOCKER_HUB else self.registry

    @property
    def asked(self) -> str:
        """What the registry is asked for: the digest, or else the tag."""
        return self.digest or self.tag

    @property
    def name(self) -> str:
        """Registry and repository."""
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        """Give the whole reference."""
        return f"{self.name}{f':{self.tag}' if self.tag else ''}{f'@{self.digest}' if self.digest else ''}"


def parse(text: str) -> Reference:
    """Read a reference. Raises `Refusal` LCK001 for what is none."""
    if not re.fullmatch(forms.IMAGE, text):
        raise Refusal(codes.ABSENT, f"{text!r} is not {forms.FORMS[forms.IMAGE]}")
    tagged, _, digest = text.partition("@")
    repository, tag = split(tagged)
    first, slash, rest = repository.partition("/")
    registry, _, path = full(f"{DOCKER_HUB}/{rest}" if slash and first in HUB_NAMES else repository).partition("/")
    return Reference(registry, path, tag or ("" if digest else _DEFAULT_TAG), digest)


def is_loopback(host: str) -> bool:
    """Whether a host, with or without a port, is this machine."""
    return host.partition(":")[0] in LOOPBACK
