"""A FlashInfer backend for experts is named that this GPU does not have.

FlashInfer's TRTLLM backend is for SM100 and newer data-centre GPUs, on any release (Spark guide L120): that is an
error. On vLLM 0.19 SM121 reference found all FlashInfer backends for experts missing on sm_121: vLLM takes Triton
instead, without a word. From 0.23 on flashinfer_cutlass ran, and faster than Marlin, with Qwen3.5-122B-A10B (Spark
guide L212); try it there with a look at log and answers.

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
    set: {moe_backend: flashinfer_cutlass}
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
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {moe_backend: flashinfer_cutlass}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="MOE008",
    slug="flashinfer-experts",
    severity=Severity.WARNING,
    sources=("SM121 reference L5", "Spark guide L117, L120, L212"),
    since="0.1.0",
)
_KEY: Final = ("set", "moe_backend")
_HINT: Final = "write `set: {moe_backend: marlin}` for NVFP4, or remove it"


def check(plan: Plan) -> Iterator[Hit]:
    """Find FlashInfer backends for experts that are not there."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    backend, vllm = kernels.option(container, "moe_backend"), container.image.vllm
    if backend == "flashinfer_trtllm":
        message = f"{container.name} sets moe_backend: {backend}, which is for SM100 and newer data-centre GPUs"
        yield kernels.hit(host, container, _KEY, message, _HINT, Severity.ERROR)
    elif kernels.falls_back(container):
        message = f"{container.name} sets moe_backend: {backend}, and vLLM {vllm} takes Triton on sm_121 instead"
        yield kernels.hit(host, container, _KEY, message, _HINT)
