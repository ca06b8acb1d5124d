"""The DFlash drafter is given an attention backend of its own.

Spark guide had to leave the drafter's backend at its default on this machine (L744, L768). vLLM has had this key since
0.21.0, and an automatic choice failed on a DGX Spark with 0.26.0 (https://github.com/vllm-project/vllm/issues/50707),
so naming one may be what helps. The target's backend is another setting, `attention_backend` under `set`.

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
    speculative: {method: dflash, attention_backend: flash_attn}
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
    code="ATT005",
    slug="attention-backend-of-drafter",
    severity=Severity.INFO,
    sources=("Spark guide L744, L768, L779-780", "https://github.com/vllm-project/vllm/issues/50707"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find DFlash drafters with a backend."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    if chosen.get("method") == "dflash" and chosen.get("attention_backend") is not None:
        message = f"{container.name} sets the drafter's attention_backend to {chosen['attention_backend']}"
        hint = "if the drafter fails, try it without attention_backend in `speculative`"
        yield kernels.hit(host, container, ("speculative",), message, hint)
