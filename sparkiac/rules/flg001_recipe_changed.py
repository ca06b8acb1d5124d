"""A recipe's options run with another model or image than they were tested with.

Options hold for one model in one build. With another of either they may be ignored, cost throughput, or give worse
answers, and no log line says so. SM121 reference gives its table for all of this hardware, but has tried it on NGC
26.04 alone. Take the entry that was made for the model, or measure this one and allow the finding with what you
measured.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, image, may_be
from sparkiac.rules.readings import own
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG001",
    slug="recipe-changed",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L2-3",
        "vLLM blog L47, L56, L91",
        "SM121 reference L60-76",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments that take a recipe's options and neither its model nor its image."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tested = own(container)
    ran = [(key, tested[key], now) for key, now in _now(container) if "model" in tested and key in tested]
    for key, then, now in ran:
        if now != then and not may_be(container, then):
            message = (
                f"{container.name} takes the options of {container.server.recipe}, which ran {then}, and runs {now}"
            )
            hint = f"remove `{key}`, choose a recipe that names {now}, or measure it and allow this"
            yield hit(host, container, (key,), message, hint)


def _now(container: Container) -> tuple[tuple[str, str], ...]:
    return ("model", container.server.model or ""), ("image", image(container))
