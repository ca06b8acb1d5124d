"""The engine stand-in: a small server with vLLM's command line and routes, for tests without a GPU."""
