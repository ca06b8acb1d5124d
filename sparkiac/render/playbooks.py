"""The playbooks, which every tree gets as they are. Their role `programs` holds what every host gets as it is."""

from __future__ import annotations

from functools import cache
from typing import Final

from sparkiac import assets
from sparkiac.artifact import Artifact

_ON_EVERY_HOST: Final = "playbooks/roles/programs/files/"
"""It mirrors the root directory of a host, as hosts/<name>/ does."""


@cache
def render() -> tuple[Artifact, ...]:
    """Render the playbooks and their roles."""
    return tuple(_copy(f"playbooks/{path}", file.read_bytes()) for path, file in assets.files("playbooks"))


@cache
def on_every_host() -> tuple[Artifact, ...]:
    """Give the programs that run on hosts and the modules that they import, with their paths on a host."""
    return tuple(
        each._replace(path=each.path.removeprefix(_ON_EVERY_HOST))
        for each in render()
        if each.path.startswith(_ON_EVERY_HOST)
    )


def _copy(path: str, content: bytes) -> Artifact:
    """Only what starts with `#!` is started by itself: modules and playbooks are not executable."""
    return Artifact(path, content, 0o755 if content.startswith(b"#!") else 0o644)
