"""The smaller machine of a group keeps less memory free than the larger one.

Each node uses the same share of its own memory, so the smaller machine has less left for the system and for the page
cache while the weights load: in the DeepSeek-V4 thread the one with 119 GiB failed every time, beside one with 121 GiB
(L313-315). The KV cache of a group is as large as its smallest part, so the larger machine gains nothing. Set both
sizes under `memory`, and a smaller share for the smaller machine under `per_host`.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    memory: {total_gib: 119}
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    memory: {total_gib: 121}
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
```

Good:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    memory: {total_gib: 119}
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    memory: {total_gib: 121}
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
    per_host: {spark-01: {set: {gpu_memory_utilization: 0.84}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.plan.numbers import gib
from sparkiac.rules.deployments import groups
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "measured"), "DeepSeek-V4 thread L313-315")


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes that keep less memory free than the largest machine of their group."""
    for group in groups(plan):
        yield from _hits(group)


def _hits(group: list[tuple[HostPlan, Container]]) -> Iterator[Hit]:
    sizes = [(host.memory_bytes or 0, _free(host, container)) for host, container in group]
    largest, kept = max(sizes)
    for (host, container), (total, free) in zip(group, sizes, strict=True):
        if 0 < total < largest and free < kept:
            most = (total - kept) * 100 // total / 100
            message = f"{container.name} leaves {gib(free)} free on {host.name}, but {gib(kept)} on the largest machine"
            hint = f"write per_host: {{{host.name}: {{set: {{gpu_memory_utilization: {most}}}}}}}"
            yield Hit((*container.path, "hosts"), message, hint, host=host.name)


def _free(host: HostPlan, container: Container) -> int:
    return (host.memory_bytes or 0) - (container.memory_bytes or 0)
