"""The floor of earlyoom is reached while memory is as the plan says.

earlyoom ends a process when the available memory falls below a floor. The plan leaves some memory free beside servers
and services; a floor less than 1 GiB below that ends the engine at the moment it is ready, although nothing is wrong.

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

Bad:

```yaml
name: home
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11, earlyoom_floor_gib: 20}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.85}
```

Good:

```yaml
name: home
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11, earlyoom_floor_gib: 2}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.85}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.budget import KEPT
from sparkiac.memory.values import GIB, least_bytes
from sparkiac.plan import Plan
from sparkiac.plan.numbers import gib
from sparkiac.rules.deployments import in_turn, views
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "arithmetic"), "model-serving-minefield#134")
_DISTANCE: Final = GIB
"""Least distance between the floor and the free memory of the plan."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find floors that servers and services reach together."""
    for host in views(plan):
        floor, total = host.values.earlyoom_floor_gib, host.memory_bytes
        if floor is None or total is None:
            continue
        free = total - least_bytes(term for term in host.budget.terms if term.name != KEPT)
        if floor * GIB > free - _DISTANCE:
            message = (
                f"earlyoom of {host.name} ends a process below {floor:g} GiB of available memory, "
                f"and the plan leaves {gib(free)}{in_turn(host)}"
            )
            hint = f"set it to {max(0.0, (free - _DISTANCE) / GIB):.1f} at most, or remove it"
            yield Hit(("hosts", host.name, "earlyoom_floor_gib"), message, hint, host=host.name)
