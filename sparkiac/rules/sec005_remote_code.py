"""The model runs its own code, without a pinned commit or without a reason.

`trust_remote_code` runs the code in the model's repository with all permissions of the container. Which code that is
was decided when the weights were staged: stage a commit that somebody has read, and name it in the lock or in
`revision`, so that the server loads no other. A model in its own directory has only one version. The reason for the
option is the source of its recipe; where no recipe has it, accept the finding with a reason of your own.

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
    allow: [{code: SEC005, reason: "we read it: the code only defines the layers of the model"}]
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
    """Find models with code of their own that no commit pins, or that an inventory permits without a reason."""
    for host, container in deployments(plan):
        server, weights = container.server, container.weights
        if not server.options.get("trust_remote_code"):
            continue
        runs = f"{container.name} runs code from {server.model}"
        pinned = server.model in {*weights.directories, *weights.commits} or server.options.get("revision") is not None
        if not pinned:
            hint = "set revision to the full commit that you read and staged"
            message = f"{runs}, which is not pinned to a commit"
            yield hit(host, container, ("set", "trust_remote_code"), message, hint)
        elif not server.recipe_options.get("trust_remote_code"):
            hint = "remove trust_remote_code, or say why: allow: [{code: SEC005, reason: ...}]"
            yield hit(host, container, ("set", "trust_remote_code"), f"{runs}, and nothing says why", hint)
