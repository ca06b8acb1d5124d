"""A general entry serves a model, so no source has run these options with it.

An entry under `base/` is a frame for any model. If the catalog has a recipe for yours, take that. If not, look in
this order: vLLM's index of recipes, the help of the `vllm serve` that is in your image, and NVIDIA's guides for Spark
for parser plugins and kernel settings. Note what you find with the deployment.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
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

from functools import cache
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.resolve import catalogued
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.readings import own
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG029",
    slug="no-recipe-for-the-model",
    severity=Severity.INFO,
    sources=(
        "Spark guide L4-14",
        "vLLM blog L31-32",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments of entries without a model."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "model" not in own(container):
        made = _made(container.server.model or "")
        start = (
            f"{container.server.recipe} is made for any model"
            if container.server.recipe
            else f"{container.name} has no recipe"
        )
        message = f"{start}, and no source ran {container.server.model} with its options"
        hint = made[0] if made else "look in vLLM's recipes and in the help of the image's `vllm serve`"
        yield hit(host, container, ("recipe",), message, hint)


@cache
def _made(model: str) -> tuple[str, ...]:
    """Give the lines that choose an entry for this model."""
    found = [each.name for each in catalogued.serving(model) if each.usable]
    return tuple(f"recipe: {name.replace('#', ', variant: ')}" for name in found)
