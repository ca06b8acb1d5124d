"""Weights are loaded in a way that not every image can.

`instanttensor` and `fastsafetensors` may shorten a load of 10 to 15 minutes. Each is a Python module that the image
must hold: the DeepSeek-V4 thread has InstantTensor in its own build, and no source says which other image has which.
Start once by hand and look for an ImportError before you rely on it.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {load_format: instanttensor}
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
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, image, option
from sparkiac.rules.readings import tested
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG023",
    slug="loader-not-in-every-image",
    severity=Severity.INFO,
    sources=(
        "Spark guide L340, L377",
        "vLLM blog L53",
        "SM121 reference L25",
        "DeepSeek-V4 thread L207, L239, L304, L404",
    ),
    since="0.1.0",
)
_MODULES: Final = {"instanttensor", "fastsafetensors"}


def check(plan: Plan) -> Iterator[Hit]:
    """Find loaders of which nothing is known for the image."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    loader = option(container, "load_format")
    lacks = container.image.tag.lacks if container.image.tag else ()
    if loader in _MODULES and loader not in {tested(container, "load_format"), *lacks}:
        message = f"no source says that {image(container)} holds {loader}"
        yield hit(host, container, ("set", "load_format"), message, "try it in this image, or remove load_format")
