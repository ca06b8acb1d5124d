"""The memory is too small for the workload of a deployment.

`workload: {users: 4, context: 65536}` states the load that a deployment must serve; the plan then checks whether that
many requests of that length fit at once, and computes the smallest share of the memory for it.

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
    set: {gpu_memory_utilization: 0.3, max_model_len: 65536}
    workload: {users: 4, context: 65536}
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
    set: {gpu_memory_utilization: 0.5, max_model_len: 65536}
    workload: {users: 4, context: 65536}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.values import Unknown
from sparkiac.plan import Plan
from sparkiac.plan.numbers import gib
from sparkiac.rules.deployments import certain
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "arithmetic"), "Spark guide L352-369: the smallest pool for a purpose")


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments whose pool is smaller than their workload needs, or whose longest request is too short."""
    for host, container, proof in certain(plan):
        workload, advice = proof.workload, proof.advice
        if workload is None or isinstance(advice, Unknown) or isinstance(proof.fit, Unknown):
            continue
        if advice.pool_bytes > proof.fit.pool_bytes:
            message = (
                f"the workload of {container.name}, {workload.users} requests of {workload.context} tokens, needs "
                f"{gib(advice.pool_bytes)} of KV cache on {host.name}, but only {gib(proof.fit.pool_bytes)} are left"
            )
            enough = (
                f"set gpu_memory_utilization to {advice.utilization}"
                if advice.utilization
                else "the machine is too small"
            )
            yield hit(host, container, ("workload",), message, enough)
        longest = container.server.options.get("max_model_len")
        if isinstance(longest, int) and longest < workload.context:
            message = (
                f"the workload of {container.name} has requests of {workload.context} tokens, "
                f"but max_model_len is {longest}"
            )
            hint = f"set max_model_len to {workload.context}"
            yield hit(host, container, ("set", "max_model_len"), message, hint)
