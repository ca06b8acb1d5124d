"""SGLang cannot divide the attention heads of the model among this number of GPUs.

Each GPU of a tensor-parallel group computes a part of the attention heads. SGLang exits at start if `tp_size` leaves a
remainder of the heads, or if the KV heads can neither be divided nor be replicated evenly. With `enable_dp_attention`
or `attn_cp_size`, fewer GPUs share the heads, so nothing is reported. Layers may be divided unevenly: `pp_size` can be
any number up to that of the layers. The heads are those of the model's config.json, which `sparkiac lock` records; they
are checked for the models whose code was read.

The lock of both examples:

```yaml
version: 1
images: {}
models:
  example/model:
    commit: "3333333333333333333333333333333333333333"
    config: {model_type: qwen3, num_hidden_layers: 36, num_attention_heads: 32, num_key_value_heads: 8}
```

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: example/model
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {tp_size: 3}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: example/model
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {tp_size: 4}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkiac.plan import Plan
from sparkiac.rules import serverrelease
from sparkiac.rules.deployments import count
from sparkiac.rules.rule import Hit, rule
from sparkiac.rules.serverrelease import ServerRelease

RULE: Final = rule(
    __name__, ("fails", "source"), "SGLang: LlamaAttention in models/llama.py, Qwen3Attention in models/qwen3.py"
)
_READ: Final = ("llama", "qwen3")
"""Model types whose code was read."""
_CONTEXT: Final = ("attn_cp_size", "attention_context_parallel_size")


def check(plan: Plan) -> Iterator[Hit]:
    """Find sizes that leave a remainder of the heads."""
    for server in serverrelease.servers(plan):
        options = server.container.server.options
        fewer = options.get("enable_dp_attention") or any((count(server.container, name) or 1) > 1 for name in _CONTEXT)
        proof = server.host.proofs.get(server.container.name)
        if proof is not None and not fewer:
            yield from _hits(server, proof.config)


def _hits(server: ServerRelease, config: Mapping[str, Any]) -> Iterator[Hit]:
    option = next((name for name in server.engine.tensor_sizes if name in server.container.server.options), None)
    size = count(server.container, option) if option else None
    if option is None or not size or config.get("model_type") not in _READ:
        return
    fault = _fault(size, config.get("num_attention_heads"), config.get("num_key_value_heads"))
    if fault:
        message = f"{server.title} does not start: {fault} of {server.container.server.model} cannot be divided by"
        hint = "choose a size that divides the number of heads, or split by layers: pp_size"
        yield server.hit(("set", option), f"{message} {option} {size}", hint)


def _fault(size: int, heads: object, kv_heads: object) -> str:
    """Return the heads that cannot be divided evenly; empty if all can, or if their numbers are unknown."""
    if isinstance(heads, int) and heads % size:
        return f"the {heads} attention heads"
    if isinstance(kv_heads, int) and kv_heads and max(kv_heads, size) % min(kv_heads, size):
        return f"the {kv_heads} KV heads"
    return ""
