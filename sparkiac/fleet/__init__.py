"""Queries to running hosts and servers over SSH and HTTP, and what follows from their responses."""
