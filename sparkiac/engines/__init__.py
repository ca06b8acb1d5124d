"""Serving engines, one file each."""
