"""sparkiac: one inventory of DGX Spark machines in, pinned and reviewable files out."""

from typing import Final

__version__: Final = "0.1.0"
