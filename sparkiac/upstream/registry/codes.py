"""The codes of what can go wrong when a registry is asked."""

from __future__ import annotations

from typing import Final

ABSENT: Final = "LCK001"
"""There is no such repository, tag or digest."""
UNFIT: Final = "LCK002"
"""The image is not built for the hosts' architecture."""
LOGIN: Final = "LCK003"
"""A login is missing, refused or cannot be read."""
SILENT: Final = "LCK004"
"""The registry does not answer, or not now."""
FALSE: Final = "LCK005"
"""The content is not what its digest or its type says."""
