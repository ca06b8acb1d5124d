"""The model runs its own code, and its commit is not pinned.

`trust_remote_code` runs the code in the model's repository with all permissions of the container. Which code that is
was decided when the weights were staged: stage a commit that somebody has read, and name it in the lock or in
`revision`, so that the server loads no other. A model in its own directory has only one version.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {trust_remote_code: true}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {trust_remote_code: true, revision: "1111111111111111111111111111111111111111"}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import deployments
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("advice", "measured"),
    "Spark guide L147, L207",
    "vLLM blog L70; dual-Spark post L48; DeepSeek-V4 thread L285",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find models with code of their own that no commit pins."""
    for host, container in deployments(plan):
        known = container.server.model in {*container.weights.directories, *container.weights.commits}
        pinned = known or container.server.options.get("revision") is not None
        if container.server.options.get("trust_remote_code") and not pinned:
            message = f"{container.name} runs code from {container.server.model}, which is not pinned to a commit"
            hint = "set revision to the full commit that you read and staged"
            yield hit(host, container, ("set", "trust_remote_code"), message, hint)
