"""More tokens are guessed in each step than MTP gets right.

Each further token costs a pass to verify, and MTP heads run again and again on their own guesses. Sources settle
between 1 and 3 for heads in the checkpoint (3 on the Spark guide's nightly image, 2 on the dual-Spark post's NGC one),
and run 4 with Gemma 4's paired drafter. Tune it from the acceptance that the server reports.

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
    speculative: {method: mtp, num_speculative_tokens: 5}
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
    speculative: {method: mtp, num_speculative_tokens: 3}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD010",
    slug="too-many-tokens",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L153, L674, L715, L772, L783",
        "dual-Spark post L11, L61, L94, L118",
    ),
    since="0.1.0",
)
_MOST_BUILT_IN: Final = 3
_MOST_PAIRED: Final = 4


def check(plan: Plan) -> Iterator[Hit]:
    """Find MTP with more tokens than any source ran well."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    if chosen.get("method") not in {"mtp", "deepseek_mtp"}:
        return
    paired = chosen.get("model") is not None
    most, tokens = _MOST_PAIRED if paired else _MOST_BUILT_IN, chosen.get("num_speculative_tokens", 1)
    if tokens > most:
        flavour = "a paired drafter" if paired else "heads in the checkpoint"
        message = f"{container.name} guesses {tokens} tokens in each step; with {flavour} sources go up to {most}"
        leaf = (*container.path, host, "speculative")
        hint = f"set num_speculative_tokens to {most} or less, and watch the acceptance"
        yield Hit((*container.path, "speculative"), message, hint, leaf=leaf, host=host)
