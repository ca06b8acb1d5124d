"""The KV cache is too small for one request of the longest length.

At start vLLM checks whether one request of `max_model_len` tokens fits into the memory that weights and overhead leave
of its share, and exits if it does not: only after it has loaded the weights, which takes minutes. The plan shows the
same arithmetic beforehand.

The lock of both examples:

```yaml
version: 1
images: {}
models:
  example/model:
    commit: "1111111111111111111111111111111111111111"
    tensor_bytes: 16000000000
    config: {model_type: qwen3, num_hidden_layers: 36, num_attention_heads: 32, num_key_value_heads: 8, head_dim: 128}
```

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.2, max_model_len: 131072}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.4, max_model_len: 131072}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.values import Unknown, known_bytes
from sparkiac.plan import Plan
from sparkiac.plan.numbers import gib
from sparkiac.rules.deployments import certain
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__, ("fails", "arithmetic"), "Spark guide L343-369", "vLLM: check_enough_kv_cache_memory, 0.11.0 to 0.33.0"
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers that would not start. If the weights alone do not fit, only MEM003 is reported."""
    for host, container, proof in certain(plan):
        if (
            isinstance(proof.fit, Unknown)
            or isinstance(proof.cache, Unknown)
            or known_bytes(proof.server.shortage.size_bytes)
        ):
            continue
        if not proof.fit.one:
            message = (
                f"one request of {proof.cache.context} tokens of {container.name} needs "
                f"{gib(proof.cache.pool_bytes(1))} of KV cache on {host.name}, "
                f"but only {gib(proof.fit.pool_bytes)} are left"
            )
            hint = f"set max_model_len to {proof.fit.tokens} or less, or raise gpu_memory_utilization"
            yield hit(host, container, ("set", "max_model_len"), message, hint)
