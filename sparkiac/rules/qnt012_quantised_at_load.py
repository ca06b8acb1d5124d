"""The weights are quantised to FP8 while they are loaded, so the BF16 ones are loaded first.

At its start the server needs memory for the BF16 weights, about 49 GB of google/gemma-4-26B-A4B-it in the dual-Spark
post, and only then turns them to FP8. Reckon with the larger figure while it loads, and with the smaller one
afterwards. A checkpoint that is FP8 already has no such peak.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: google/gemma-4-26b-a4b-it-fp8
    image: >-
      vllm/vllm-openai:gemma4-0505-arm64-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: qwen/qwen3-coder-next-fp8
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: fp8}
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
    code="QNT012",
    slug="quantised-at-load",
    severity=Severity.INFO,
    sources=("dual-Spark post L87, L100-102", "SM121 reference L31"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find BF16 weights that are quantised at load."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    found = kernels.known(container)
    if found is not None and "BF16" in (found.format or "") and kernels.option(container, "quantization") == "fp8":
        message = f"{container.name} loads {container.server.model} in BF16 before it quantises it to FP8"
        yield kernels.hit(host, container, ("set", "quantization"), message, "leave room for the BF16 weights")
