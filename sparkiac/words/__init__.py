"""Plans, hosts, records and findings as pages, Markdown and plain data; a page does not depend on the terminal."""
