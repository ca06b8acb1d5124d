"""Expert parallelism is switched on, and there is one GPU.

The option spreads experts over GPUs; with one it has nothing to spread. Spark guide's table of flags recommends it
for mixtures of experts, and none of its recipes for one Spark has it. The DeepSeek-V4 thread uses it on two.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/moe
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {enable_expert_parallel: true}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/moe
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
    code="FLG012",
    slug="experts-on-one-gpu",
    severity=Severity.INFO,
    sources=(
        "Spark guide L238-248, L291-299, L313-321, L338",
        "DeepSeek-V4 thread L381",
    ),
    since="0.1.0",
)
_KEY: Final = ("set", "enable_expert_parallel")


def check(plan: Plan) -> Iterator[Hit]:
    """Find the option on single hosts."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if container.server.options.get("enable_expert_parallel") and container.server.node is None:
        message = f"{container.name} has one GPU, so its experts cannot be spread"
        fix = written(container, *_KEY, value=REMOVE)
        yield hit(host, container, _KEY, message, "remove enable_expert_parallel", fix=fix)
