"""Whether a server keeps its promise."""
