"""sparkiac: generate pinned, reviewable files for LLM servers on DGX Spark machines from one inventory."""

from typing import Final

__version__: Final = "0.1.0"
