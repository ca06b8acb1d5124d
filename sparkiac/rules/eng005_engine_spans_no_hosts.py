"""A deployment spans several hosts on an engine for which sparkiac writes no groups.

sparkiac writes groups for vLLM, SGLang and llama.cpp. TensorRT-LLM spans hosts with MPI, which needs a login from one
container to another; sparkiac does not write that.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.12/24}]}
deployments:
  chat:
    recipe: base/tensorrt-llm
    model: google/gemma-4-26B-A4B-it
    image: nvcr.io/nvidia/tensorrt-llm/release@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.12/24}]}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    hosts: [spark-01, spark-02]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(
    __name__, ("fails", "contract"), "dual-Spark post L3; DeepSeek-V4 thread: two Sparks, on vLLM only", waivable=False
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes of groups on an engine that has no groups."""
    for host, container in plan.containers:
        engine, node = engines.named(container.server.engine), container.server.node
        if node is not None and engine.groups is None:
            message = f"{container.name} spans {node[1]} hosts, but sparkiac writes no groups for {engine.title} yet"
            hint = "name one host, or use a recipe for vLLM, SGLang or llama.cpp"
            yield Hit((*container.path, "hosts"), message, hint, host=host.name)
