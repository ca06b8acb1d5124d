"""DFlash runs on another attention backend than Triton.

flash_attn and FlashInfer crash on sm_121 with DFlash: the target wants `attention_backend: triton_attn`. The method
sets that by itself; a deployment or the defaults that say otherwise win. Spark guide prints its Laguna command without
the option (L765) and asks for it in the note that follows (L768).

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
    set: {attention_backend: flash_attn}
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
    code="ATT004",
    slug="dflash-without-triton",
    severity=Severity.ERROR,
    sources=("Spark guide L164, L182, L759-765, L768, L779-780",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find DFlash on another backend."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    method, backend = (container.server.speculative or {}).get("method"), kernels.option(container, "attention_backend")
    if method == "dflash" and backend != "triton_attn":
        message = f"DFlash wants attention_backend: triton_attn, and {container.name} has {backend or 'none'}"
        hint = "remove attention_backend from the deployment or the defaults"
        yield kernels.hit(host, container, ("set", "attention_backend"), message, hint)
