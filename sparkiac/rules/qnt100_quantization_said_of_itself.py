"""The format is named of a checkpoint that says it itself.

vLLM finds out by itself that a checkpoint is compressed-tensors, so Spark guide leaves `quantization` out; the dual-
Spark post writes it on NGC 26.04, and that works as well. It is one more thing to change with the model.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: null}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="QNT100",
    slug="quantization-said-of-itself",
    severity=Severity.INFO,
    sources=("Spark guide L103, L166, L200, L258", "dual-Spark post L46"),
    since="0.1.0",
)
_KEY: Final = ("set", "quantization")


def check(plan: Plan) -> Iterator[Hit]:
    """Find compressed-tensors checkpoints whose format is named."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if kernels.option(container, "quantization") == "compressed-tensors":
        message = f"{container.name} sets quantization: compressed-tensors, which vLLM finds out by itself"
        fix = kernels.written(container, *_KEY, value=REMOVE)
        yield kernels.hit(host, container, _KEY, message, "remove quantization", fix=fix)
