"""Arithmetic of memory in integer bytes, and of speed. Unknown results are values. Nothing here reads an inventory."""
