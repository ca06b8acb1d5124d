"""The model is given twice: once by `model`, and once more among the options.

A deployment's `model`, or its recipe's, becomes the first word of the command. Sources write `--model` instead where
they serve a local path; sparkiac does that by `model_path`. With both, one of them is ignored, and the names that
clients use may be those of the other.

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
    set: {model: other/model}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: other/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    code="ENT006",
    slug="model-given-twice",
    severity=Severity.WARNING,
    sources=("Spark guide L146, L243, L267",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find models among the options."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "model" in container.server.options:
        other = container.server.options["model"]
        message = f"{container.name} serves {container.server.model}, and its options name {other}"
        hint = "remove it from `set`, and write it as the deployment's `model`"
        yield kernels.hit(host, container, ("set", "model"), message, hint)
