"""The start of the nodes of a group."""
