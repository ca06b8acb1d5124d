"""A quantized V cache is used without flash attention, which llama.cpp refuses.

The server loads the model and then exits with "V cache quantization requires flash_attn", or in later builds "quantized
V cache requires flash_attn to be enabled". All builds that were read, b9093 to b11434, do so. Their default, "auto",
turns flash attention on for such a cache if the model supports it. This is an error if an upstream tag names a build
that was read, and a warning otherwise.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/llama-cpp
    model: example/model-GGUF
    model_file: model-Q4_K_M.gguf
    image:
      ghcr.io/ggml-org/llama.cpp:server-cuda-b11434@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {cache_type_v: q8_0, flash_attn: "off"}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/llama-cpp
    model: example/model-GGUF
    model_file: model-Q4_K_M.gguf
    image:
      ghcr.io/ggml-org/llama.cpp:server-cuda-b11434@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {cache_type_v: q8_0, flash_attn: "on"}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(
    __name__, ("fails", "source"), "llama.cpp b9093 to b11434: llama_init_from_model, in src/llama-context.cpp"
)
_OFF: Final = frozenset({"off", "disabled", "false", "0"})


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers with a quantized V cache that turn flash attention off."""
    for server in serverrelease.servers(plan):
        options, name = server.container.server.options, server.container.name
        cache, flash = options.get("cache_type_v", "f16"), options.get("flash_attn")
        off = flash is not False and str(flash) in _OFF
        plain = server.engine.plain_v_cache
        if plain and off and cache not in plain:
            title = server.engine.title
            message = f"{name} sets cache_type_v: {cache} and turns flash attention off, which {title} refuses"
            hint = 'remove `flash_attn`, or set `flash_attn: "on"` or `cache_type_v: f16`'
            yield server.hit(("set", "flash_attn"), message, hint)
