"""No source has seen this Gemma 4 checkpoint run.

nvidia/Gemma-4-26B-A4B-NVFP4 has the scales that vLLM 0.19 cannot map, and comes without a patch for it; whether the
community's patched loader reads it is not known. bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4 is the one that ran.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: nvidia/Gemma-4-26B-A4B-NVFP4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: bg-digitalservices/gemma-4-26b-a4b-it-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
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
    code="QNT007",
    slug="unproven-gemma4-checkpoint",
    severity=Severity.WARNING,
    sources=("Spark guide L232-234, L252",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find that checkpoint."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if kernels.model(container) == "nvidia/gemma-4-26b-a4b-nvfp4":
        message = f"{container.server.model} is not known to load, with or without the patched gemma4.py"
        hint = "take the recipe bg-digitalservices/gemma-4-26b-a4b-it-nvfp4"
        yield kernels.hit(host, container, ("model",), message, hint)
