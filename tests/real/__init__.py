"""Opt-in tests against a real vLLM on a CPU: SPARKIAC_REAL_VLLM=1, with its `vllm` on PATH."""
