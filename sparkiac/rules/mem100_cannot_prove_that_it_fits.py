"""It cannot be proven that a model fits, because a value is unknown.

On unified memory a server that allocates too much brings the whole machine down, and that only shows after a load of up
to 15 minutes. `sparkiac plan` computes every term from the lock (tensors, config.json), from the contents of the image
and from the measurements in the inventory. The message names what is missing. A missing value never counts as a pass.

The lock of both examples:

```yaml
version: 1
images: {}
models:
  example/another: {commit: "2222222222222222222222222222222222222222"}
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
    model: example/another
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.5}
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
    set: {gpu_memory_utilization: 0.5}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.values import Unknown
from sparkiac.plan import Plan
from sparkiac.plan.numbers import CAPTURE, remedies
from sparkiac.rules.deployments import proven
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("unknown", "arithmetic"), "Spark guide L343-359")


_TRY: Final = "test it under load, then allow MEM100 with the measured value as the reason"


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers whose KV cache cannot be computed."""
    for host, container, proof in proven(plan):
        if isinstance(proof.fit, Unknown) and container.server.model in container.weights.commits:
            missing = ", ".join(proof.fit.missing)
            message = f"cannot prove that {container.name} fits on {host.name}; unknown: {missing}"
            yield hit(host, container, ("model",), message, "; ".join(remedies(proof.fit)) or _TRY)
        elif not isinstance(proof.fit, Unknown) and proof.assumption is not None:
            message = f"the memory of {container.name} on {host.name} is estimated {proof.assumption}"
            yield hit(host, container, ("image",), message, CAPTURE)
