"""A variable chooses how GPUs add up their parts, and there is one GPU.

Some recipes carry such a variable to get around a fault of one image. It is about tensor parallelism, which a single
Spark has not: there it is not needed, says vLLM blog.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    env: {VLLM_ALLREDUCE_USE_FLASHINFER: 0}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Severity
from sparkiac.rules.kernels import deployments, hit, written
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG016",
    slug="allreduce-on-one-host",
    severity=Severity.INFO,
    sources=("vLLM blog L49",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find such variables on single hosts."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    for name in container.command.env:
        if "ALLREDUCE" in name and container.server.node is None:
            message = f"{container.name} sets {name}, and has one GPU"
            fix = written(container, "env", name, value=REMOVE)
            yield hit(host, container, ("env", name), message, "remove it", fix=fix)
