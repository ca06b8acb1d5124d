"""Query running hosts and servers over SSH and HTTP, and evaluate their responses."""
