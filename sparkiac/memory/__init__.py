"""Arithmetic of unified memory and speed: integer bytes, and unknown is a value. Knows nothing of inventories."""
