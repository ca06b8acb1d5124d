"""The name of a generation. sparkiac computes it for the generated tree, and the host again for what it got."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple


class PlacedFile(NamedTuple):
    """A generated file of the host."""

    path: str
    mode: str
    """In octal digits."""
    sha256: str


def generation_id(files: Iterable[PlacedFile]) -> str:
    """Return the name of a generation with these files: a hash of them and their modes."""
    text = "".join(f"{mode} {sha256} {path}\n" for path, mode, sha256 in sorted(files))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
