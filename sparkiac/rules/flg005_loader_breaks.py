"""The image fails with this way to load weights.

NGC 26.03 and 26.04 end with an ImportError on `load_format: fastsafetensors`. Spark guide and vLLM blog say that it
is worth a try, which holds for other images; without it loading takes longer, and nothing else changes.

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
    set: {load_format: fastsafetensors}
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
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Severity
from sparkiac.rules.kernels import deployments, hit, image, written
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG005",
    slug="loader-breaks",
    severity=Severity.ERROR,
    sources=(
        "SM121 reference L24-25, L70",
        "Spark guide L157, L340, L377",
        "vLLM blog L53",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find loaders that the image is known to lack."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    lacks = container.image.tag.lacks if container.image.tag else ()
    if container.server.options.get("load_format") in lacks:
        message = f"{image(container)} cannot load weights by {container.server.options['load_format']}"
        key = ("set", "load_format")
        yield hit(host, container, key, message, "remove load_format", fix=written(container, *key, value=REMOVE))
