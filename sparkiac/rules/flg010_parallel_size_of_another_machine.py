"""The model is split over a different number of GPUs than the deployment has.

A Spark has one. Model cards print `--tensor-parallel-size 8` for a server with eight, and vLLM exits when it finds
fewer. On one Spark leave the option out; sparkiac sets the right number for a group of hosts. With pipeline or data
parallelism, the product of all sizes is the number of hosts.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {tensor_parallel_size: 8}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {tensor_parallel_size: 1}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from sparkiac import engines
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.rules.deployments import count, deployments
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "arithmetic"), "Spark guide L228-229, L657", "vLLM blog L45")


def check(plan: Plan) -> Iterator[Hit]:
    """Find sizes whose product is not the number of GPUs."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    groups = engines.named(container.server.engine).groups
    sizes = groups.split if groups else ()
    split = prod(count(container, option) or 1 for option in sizes)
    gpus = container.server.node[1] if container.server.node else 1
    if sizes and split != gpus:
        message = f"{container.name} is split over {split} GPUs, but has {gpus}"
        option = next((option for option in sizes if option in container.server.options), sizes[0])
        yield hit(host, container, ("set", option), message, "remove it: sparkiac sets it for a group of hosts")
