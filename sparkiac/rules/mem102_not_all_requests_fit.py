"""Fewer requests of the longest length fit than the server admits at once.

This is not an error: requests are rarely that long. When they are, the last ones are queued, or preempted and computed
again. Lower `max_num_seqs` or `max_model_len` to match the memory.

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
    set: {gpu_memory_utilization: 0.4, max_model_len: 131072, max_num_seqs: 8}
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
    set: {gpu_memory_utilization: 0.4, max_model_len: 131072, max_num_seqs: 1}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.values import Unknown
from sparkiac.plan import Plan
from sparkiac.rules.deployments import certain
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("slow", "arithmetic"),
    "Spark guide L352-369",
    "DeepSeek-V4 thread L313-315: 313K tokens for two requests of 300,000",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers that start, but whose max_num_seqs requests of full length do not fit at once."""
    for host, container, proof in certain(plan):
        stated = container.server.options.get("max_num_seqs")
        if isinstance(proof.fit, Unknown) or stated is None or proof.fit.all or not proof.fit.one:
            continue
        message = (
            f"{container.name} admits {stated} requests at once; "
            f"its KV cache is enough for {proof.fit.concurrency:.1f} of full length"
        )
        hint = f"set max_num_seqs to {int(proof.fit.concurrency)} if all requests can be that long"
        yield hit(host, container, ("set", "max_num_seqs"), message, hint)
