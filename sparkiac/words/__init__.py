"""What people and programs read of plans, hosts and records: pages without a terminal, Markdown, and plain data."""
