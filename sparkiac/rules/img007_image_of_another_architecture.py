"""The image's tag names an architecture that the host does not have.

DGX Spark is an ARM64 machine: an image for x86-64 exits with `exec format error`. Multi-architecture images do not name
one in the tag, and the host pulls its own build; some tags contain a single build and name its architecture. Use the
tag for arm64, also spelled aarch64, or one that names no architecture. Whether an image without such a tag has a build
for arm64 is only known when it is pulled.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:nightly-x86_64@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:nightly-aarch64@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, Severity.ERROR, "Spark guide L19, L25, L114", "dual-Spark post L85, L99")
_SPELLINGS: Final = {"arm64": ("arm64", "aarch64"), "amd64": ("amd64", "x86_64", "x86-64")}


def check(plan: Plan) -> Iterator[Hit]:
    """Find images whose tag names another architecture than the host's."""
    for host, container in plan.containers:
        _, _, tag = container.image.short.rpartition(":")
        named = [each for each, spellings in _SPELLINGS.items() if any(word in tag for word in spellings)]
        if named and host.values.architecture not in named:
            message = f"{container.image.short} is built for {named[0]}, but {host.name} is {host.values.architecture}"
            hint = f"use the tag for {host.values.architecture}"
            yield hit(host, container, ("image",), message, hint)
