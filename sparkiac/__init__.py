"""sparkiac: generate pinned, reviewable files for LLM servers on DGX Spark machines from one inventory."""

__version__ = "0.2.0"
