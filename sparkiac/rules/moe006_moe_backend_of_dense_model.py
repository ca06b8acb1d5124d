"""A dense model names a backend for experts, which it does not have.

`moe_backend` chooses the kernel of a mixture of experts. Linear layers in FP4 of a dense model choose
FLASHINFER_CUTLASS by themselves, and that path works on this GPU. The option does nothing here; leave it out.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: unsloth/qwen3.6-27b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {moe_backend: marlin}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: unsloth/qwen3.6-27b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
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
    code="MOE006",
    slug="moe-backend-of-dense-model",
    severity=Severity.INFO,
    sources=("Spark guide L117, L216, L218",),
    since="0.1.0",
)
_KEY: Final = ("set", "moe_backend")


def check(plan: Plan) -> Iterator[Hit]:
    """Find dense models with a backend for experts."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    found, backend = kernels.known(container), kernels.option(container, "moe_backend")
    if backend and found is not None and (found.architecture.kind or "").endswith("dense"):
        message = f"{container.server.model} is dense, and {container.name} sets moe_backend: {backend}"
        fix = kernels.written(container, *_KEY, value=REMOVE)
        yield kernels.hit(host, container, _KEY, message, "remove moe_backend", fix=fix)
