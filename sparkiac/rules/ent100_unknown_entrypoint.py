"""The entrypoint of a deployment's image is unknown.

The command of a deployment depends on the image: sparkiac writes `vllm serve` unless the image's entrypoint already
contains it. For an image that is neither in the catalog nor locked with its entrypoint, the command would be a guess,
and with a wrong guess the container exits at once. `sparkiac lock` reads the entrypoint from the registry.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    image: example.org/vllm@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    image: vllm/vllm-openai@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report.hints import build_hint
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "contract"),
    "Spark guide L98-100: the two image families handle their command differently",
    waivable=False,
)


_HINT: Final = "run sparkiac lock, which reads it from the registry"


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments whose image has no known entrypoint."""
    for host, container in plan.containers:
        command = container.command
        derived = command.needs_shell or (container.kind == "deployment" and bool(command.words))
        if derived and container.image.entrypoint is None and container.image.command is None:
            build = container.image.build
            message = f"the entrypoint of {container.image.reference}, the image of {container.name}, is unknown"
            yield hit(host, container, ("image",), message, build_hint(build) if build else _HINT)
