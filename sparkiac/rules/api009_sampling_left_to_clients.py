"""Sampling for Nemotron-3-Nano is left to its clients.

It was made for certain values. The text model: temperature 1.0 and top_p 1.0 for reasoning, 0.6 and 0.95 for tools.
The Omni model: 0.6 and 0.95 when it thinks, temperature 0.2 when it only follows instructions. Set what most clients
need as the server's default; a request's own values still win. An alias of OpenClaw carries them under `sampling`.
Reasoning needs a high max_tokens, about 10000.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {override_generation_config: {temperature: 0.6, top_p: 0.95}}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="API009",
    slug="sampling-left-to-clients",
    severity=Severity.INFO,
    sources=("Spark guide L304, L324",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find the model without default sampling."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "nemotron-3-nano" in model(container) and "override_generation_config" not in container.server.options:
        message = f"{container.name} leaves sampling to its clients, and its model wants certain values"
        hint = "set override_generation_config to what most clients need, or let each client send its own"
        yield hit(host, container, ("set", "override_generation_config"), message, hint)
