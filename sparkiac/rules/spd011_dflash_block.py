"""DFlash guesses fewer or more tokens than its drafters were made for.

It guesses a whole block at once and checks it in one pass, so more tokens cost little: sources run 15 with Qwen, 12
with AEON-7's newest image, 7 with Laguna, and the block size of the small drafters, which is 8 for many requests and
16 for one. From 7 to 15 is normal, says Spark guide.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash, num_speculative_tokens: 3}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD011",
    slug="dflash-block",
    severity=Severity.INFO,
    sources=("Spark guide L163, L744, L768, L772, L783",),
    since="0.1.0",
)
_BLOCK: Final = range(7, 17)


def check(plan: Plan) -> Iterator[Hit]:
    """Find numbers outside of what sources run."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    tokens = chosen.get("num_speculative_tokens")
    if chosen.get("method") == "dflash" and tokens not in {None, *_BLOCK}:
        message = f"{container.name} guesses {tokens} tokens in each step; DFlash runs 7 to 16"
        yield hit(host, container, ("speculative",), message, "leave num_speculative_tokens away, or set 7 to 16")
