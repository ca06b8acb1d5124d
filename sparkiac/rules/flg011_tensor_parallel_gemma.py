"""Gemma-4-26B-A4B cannot be split by tensor parallelism.

Its experts can be spread over GPUs, its tensors cannot: it is made for one. It fits one Spark with room to spare, so
serve it from one host.

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
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: [spark-01, spark-02]
    port: 8000
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.readings import count
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG011",
    slug="tensor-parallel-gemma",
    severity=Severity.ERROR,
    sources=("Spark guide L250-252",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find the model over several GPUs."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    size = count(container, "tensor_parallel_size") or 1
    if "gemma-4-26b-a4b" in model(container) and size > 1:
        message = f"{container.server.model} runs on one GPU only, and {container.name} splits it over {size}"
        yield hit(host, container, ("on",), message, "serve it from one host")
