"""Copy the playbooks into the output directory. The files of their role `programs` go to every host unchanged."""

from __future__ import annotations

from functools import cache
from typing import Final

from sparkiac.report import assets
from sparkiac.report.artifact import Artifact

_ON_EVERY_HOST: Final = "playbooks/roles/programs/files/"
"""Directory of the role `programs`; it mirrors the root directory of a host, as hosts/<name>/ does."""


@cache
def render() -> tuple[Artifact, ...]:
    """Return the playbooks and their roles."""
    return tuple(_copy(f"playbooks/{path}", file.read_bytes()) for path, file in assets.files("playbooks"))


@cache
def on_every_host() -> tuple[Artifact, ...]:
    """Return the programs for every host and the modules that they import, with their paths on the host."""
    return tuple(
        each._replace(path=each.path.removeprefix(_ON_EVERY_HOST))
        for each in render()
        if each.path.startswith(_ON_EVERY_HOST)
    )


def _copy(path: str, content: bytes) -> Artifact:
    """Return an artifact; it is executable if it starts with `#!`."""
    return Artifact(path, content, 0o755 if content.startswith(b"#!") else 0o644)
