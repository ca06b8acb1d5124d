"""Ray is asked for, and the image does not hold it.

NGC 26.04 comes without Ray (Spark guide L108), so a server with `distributed_executor_backend: ray` ends at its start.
Two machines need no Ray: sparkiac starts one vLLM process on each. Leave the option out, or build an image with a
pinned Ray, or install it in the prelude.

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
    set: {distributed_executor_backend: ray}
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

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="IMG005",
    slug="image-without-ray",
    severity=Severity.ERROR,
    sources=("Spark guide L108", "SM121 reference L2, L37"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments that ask for Ray in an image without it."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tag = container.image.tag
    installed = any(word.startswith("ray") for words in container.command.pre_start for word in words)
    asked = kernels.option(container, "distributed_executor_backend") == "ray"
    if asked and tag is not None and "ray" in tag.lacks and not installed:
        message = f"{container.name} asks for Ray, and {kernels.image(container)} does not hold it"
        key = ("set", "distributed_executor_backend")
        yield kernels.hit(host, container, key, message, "remove distributed_executor_backend")
