"""Chunked prefill is switched on for a mixture of experts with Mamba layers, and no source ran it so.

Spark guide's table of troubles names it as a cause of answers that come nine times slower. Its own recipe for
Qwen3.6-35B-A3B passes the option all the same, and is measured with it: what a recipe has tested is not questioned.
For any other model compare both. vLLM may choose it by itself, so to be without it write `false`.

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
    set: {enable_chunked_prefill: true}
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
    set: {enable_chunked_prefill: false}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, known
from sparkiac.rules.readings import tested
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG006",
    slug="chunked-prefill-on-hybrid",
    severity=Severity.WARNING,
    sources=("Spark guide L152, L653",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find hybrid mixtures of experts whose recipe does not have the option."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    facts, option = known(container), "enable_chunked_prefill"
    hybrid = facts is not None and facts.architecture.kind == "hybrid-moe"
    if hybrid and container.server.options.get(option) is True and tested(container, option) is not True:
        message = f"{container.name} mixes experts and Mamba layers, which chunked prefill has made nine times slower"
        yield hit(host, container, ("set", option), message, "remove it, or write false and compare")
