"""The commands that the sources print, typed in as facts and not as commands: one module for each source.

A fact is a tuple whose last part is the value; the comment beside it names the source's line. A flag's value is written
as JSON has it, so 0.80 is 0.8 and a JSON argument is compared as an object.
"""

from __future__ import annotations

import json

Fact = tuple[str, ...]
CALLERS = "the caller's"
"""Stands for a secret that the caller's environment holds."""


def flags(**values: object) -> set[Fact]:
    """Make facts of a command's options: `max_model_len=65536` is `--max-model-len 65536`."""
    return {("flag", name.replace("_", "-"), value_of(value)) for name, value in values.items()}


def env(**values: object) -> set[Fact]:
    """Make facts of environment variables, which are texts."""
    return {("env", name, str(value)) for name, value in values.items()}


def value_of(value: object) -> str:
    """Write a value in one way."""
    return json.dumps(value, sort_keys=True)


def docker_run(name: str) -> set[Fact]:
    """Return what the Spark guide and the vLLM blog write into every `docker run` but that of section 14.4."""
    return {
        ("container", "detached"),
        ("container", "name", name),
        ("container", "ipc", "host"),
        ("container", "restart", "unless-stopped"),
        ("container", "gpus", "all"),
        ("port", "8000", "8000"),
    }


HF_TOKEN: set[Fact] = {("env", "HF_TOKEN", CALLERS)}
"""`-e HF_TOKEN="$HF_TOKEN"`."""
STORE: set[Fact] = {("env", "HF_HOME", "/models"), ("mount", "/models", "~/vllm")}
"""`-e HF_HOME=/models -v ~/vllm:/models`."""
