"""A pair of model and drafter that runs in one image only runs in another one.

DFlash for Gemma 4 needs Z Lab's own build of vLLM: no release has that code. In any other image the server ends when it
loads the drafter. The catalog's table of drafters names the image of each pair that needs one.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-31B-it
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-31B-it
    image: ghcr.io/z-lab/vllm-openai:gemma4-dflash-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""  # noqa: E501  a reference with its digest is one word

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.report import Severity
from sparkiac.rules.kernels import image
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD009",
    slug="drafter-needs-image",
    severity=Severity.ERROR,
    sources=("Spark guide L687-688, L755, L768",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find pairs that run outside the image that they need."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    for pair in catalog.drafters() if chosen.get("model") else ():
        known = pair.drafter == chosen.get("model") and pair.method == chosen.get("method")
        if known and pair.image is not None and image(container) != pair.image:
            message = f"{pair.drafter} needs {pair.image}, and {container.name} runs {image(container)}"
            leaf = (*container.path, host, "image")
            yield Hit((*container.path, "image"), message, f"image: {pair.image}", leaf=leaf, host=host)
