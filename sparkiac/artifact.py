"""The rendered file: what `render` makes and `write` puts on disk."""

from __future__ import annotations

from typing import NamedTuple


class Artifact(NamedTuple):
    """One finished file of the output tree.

    `path` is relative, with forward slashes; `content` holds the final bytes; `mode` is the
    permission bits (0o644 or 0o755), set whatever the umask says.
    """

    path: str
    content: bytes
    mode: int = 0o644
