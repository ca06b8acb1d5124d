"""Gemma-4-26B-A4B is split by tensor parallelism.

Spark guide says that its experts can be spread over GPUs and its tensors cannot, and serves it from one Spark, where it
fits with room to spare (L250-252). No code of vLLM refuses the split, and a recipe for DGX Spark has two as its default
(https://github.com/eugr/spark-vllm-docker/issues/231). A quantised checkpoint may still fail: half of an expert's 704
rows is no multiple of 64 or 128, which some kernels want.

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
    severity=Severity.INFO,
    sources=("Spark guide L250-252", "https://github.com/eugr/spark-vllm-docker/issues/231"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find the model over several GPUs."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    size = count(container, "tensor_parallel_size") or 1
    if "gemma-4-26b-a4b" in model(container) and size > 1:
        named = container.server.model
        message = f"{container.name} splits {named} over {size} GPUs; Spark guide runs it on one, where it fits"
        yield hit(host, container, ("on",), message, "if it does not start, serve it from one host")
