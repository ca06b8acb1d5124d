"""Readers of a machine that sparkiac sends over ssh; no apply installs them."""
