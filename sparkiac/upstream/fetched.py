"""Files of a repository or an artifact with recipes, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

MAX_FILES: Final = 1000
MAX_BYTES: Final = 1 << 20
"""Maximum size of one file that is fetched."""
SUFFIX: Final = ".yaml"


class FetchedFiles(NamedTuple):
    """Files of a repository at one commit, or of an artifact with one digest."""

    pin: str
    """Commit or digest."""
    files: Mapping[str, bytes]
    """Path below the requested folder → content."""
