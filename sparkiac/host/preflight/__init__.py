"""Checks of a host before an apply and before the start of a unit."""
