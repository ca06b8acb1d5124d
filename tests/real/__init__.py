"""A tiny model for trials of the prober against a real vLLM on a CPU; no test runs it yet."""
