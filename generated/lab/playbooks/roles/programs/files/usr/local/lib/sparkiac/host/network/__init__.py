"""Links between hosts, and what hosts serve to each other."""
