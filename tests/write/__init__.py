"""The writer on real file systems: nothing here replaces `os`, except where a fault is injected."""
