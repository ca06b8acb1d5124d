"""The containers and the reserve of a host need more memory than it has.

Servers, services and the reserve for the system share one pool of memory. If together they need more than there is, the
machine does not slow down: it hangs or resets. The plan shows every term; set `memory_gib` of a service and
`memory.reserve_gib` of a host where the value is not known otherwise.

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
    set: {gpu_memory_utilization: 0.85}
services:
  asr:
    kind: container
    image: example.org/asr@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8765
    memory_gib: 20
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
    set: {gpu_memory_utilization: 0.8}
services:
  asr:
    kind: container
    image: example.org/asr@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8765
    memory_gib: 20
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.values import known_bytes, least_bytes
from sparkiac.plan import Plan
from sparkiac.plan.numbers import gib, over_budget
from sparkiac.rules.deployments import in_turn, views
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "arithmetic"), "SM121 reference L15-17", "Spark guide L304")


def check(plan: Plan) -> Iterator[Hit]:
    """Find hosts that are over budget, even without the terms that are only assumed."""
    for host in views(plan):
        total, most = host.memory_bytes, host.budget.most_bytes
        proven = least_bytes(term for term in host.budget.terms if not term.assumed)
        if total is not None and most is not None and proven > total:
            listed = ", ".join(
                f"{term.name} {gib(size)}" for term in host.budget.terms if (size := known_bytes(term.size_bytes))
            )
            where = f"{host.name} is {over_budget(-most)}{in_turn(host)}"
            message = f"{where}: it has {gib(total)}, and these are needed: {listed}"
            hint = "lower a share, move a container to another host, or lower memory.reserve_gib if less is enough"
            yield Hit(("hosts", host.name), message, hint, host=host.name)
