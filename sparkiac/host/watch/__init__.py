"""The watch of a host: a timer keeps its settings and recognises a sick machine."""
