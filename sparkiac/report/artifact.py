"""The value that represents one generated file; `render` creates it and `write` writes it to disk."""

from __future__ import annotations

from typing import NamedTuple


class Artifact(NamedTuple):
    """One generated file.

    `path` is relative to the output directory, with forward slashes; `content` is the final bytes; `mode` is the
    permission bits (0o644 or 0o755), which the umask does not change.
    """

    path: str
    content: bytes
    mode: int = 0o644


def hashes_file(host: str) -> str:
    """Return the path of the variables with hashes of a host, which reviews fold."""
    return f"host_vars/{host}/hashes.yml"
