"""The weights are BF16, which is four times what NVFP4 takes.

Decoding on this machine is bound by memory bandwidth, and one pool of memory holds weights and cache. Sources advise
MoE models in NVFP4, or FP8 and MXFP4, with 3 to 13 (Spark guide L28) or 10 to 15 (vLLM blog L13) billion active
parameters. BF16 is right as the target of DFlash on a stock image (Spark guide L163-164), and where the server
quantises at load.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: poolside/laguna-xs.2-dflash
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: null
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: poolside/laguna-xs.2-dflash
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    code="QNT010",
    slug="bf16-weights",
    severity=Severity.INFO,
    sources=("Spark guide L28, L163-164, L200", "vLLM blog L13"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find BF16 weights that nothing asks for."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    found, method = kernels.known(container), (container.server.speculative or {}).get("method")
    plain = found is not None and found.format == "BF16" and not kernels.option(container, "quantization")
    if plain and method != "dflash":
        message = f"{container.server.model} is BF16; NVFP4 or FP8 leaves more memory and decodes faster"
        yield kernels.hit(host, container, ("model",), message, "look for a checkpoint in NVFP4 or FP8")
