"""Marlin runs on vLLM 0.19.0 without VLLM_MARLIN_USE_ATOMIC_ADD=1.

SM121 reference reports a race in the Marlin kernel of NGC 26.04, vLLM 0.19.0, which gives wrong output unless this
variable is set. Spark guide's recipes run Marlin on other images and never set it, so nothing is said of those. The
fragment sm121-ngc-2604 sets it.

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
    set: {moe_backend: marlin}
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
    set: {moe_backend: marlin}
    env: {VLLM_MARLIN_USE_ATOMIC_ADD: 1}
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
    code="MOE002",
    slug="marlin-without-atomic-add",
    severity=Severity.WARNING,
    sources=("SM121 reference L26-27, L66",),
    since="0.1.0",
)
_VARIABLE: Final = "VLLM_MARLIN_USE_ATOMIC_ADD"


def check(plan: Plan) -> Iterator[Hit]:
    """Find Marlin on vLLM 0.19.0 without the variable."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    marlin = kernels.option(container, "moe_backend") == "marlin"
    if marlin and container.image.vllm == "0.19.0" and container.command.env.get(_VARIABLE) != "1":
        message = f"{container.name} runs Marlin on vLLM 0.19.0 without {_VARIABLE}=1, which prevents a race"
        fix = kernels.written(container, "env", _VARIABLE, value=1)
        yield kernels.hit(host, container, ("env", _VARIABLE), message, f"write `env: {{{_VARIABLE}: 1}}`", fix=fix)
