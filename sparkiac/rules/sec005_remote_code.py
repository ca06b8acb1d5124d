"""The model brings code of its own, and no commit of it is named.

`trust_remote_code` runs what lies in the model's repository, with all that the container has. Which code that is was
decided when the weights were staged: stage a commit that somebody has read, which the lock names or `revision` does, so
that the server takes no other. A model in a directory of its own has one state alone.

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
    port: 8001
    set: {trust_remote_code: true}
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
    port: 8001
    set: {trust_remote_code: true, revision: "1111111111111111111111111111111111111111"}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.deployments import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="SEC005",
    slug="remote-code",
    severity=Severity.INFO,
    sources=(
        "Spark guide L147, L207",
        "vLLM blog L70",
        "dual-Spark post L48",
        "DeepSeek-V4 thread L285",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find models whose code may be any: the lock has no commit of them."""
    for host, container in deployments(plan):
        known = container.server.model in {*container.weights.directories, *container.weights.commits}
        pinned = known or container.server.options.get("revision") is not None
        if container.server.options.get("trust_remote_code") and not pinned:
            message = f"{container.name} runs code of {container.server.model} at whatever commit is staged"
            hint = "set revision to the full commit that you read and staged"
            yield hit(host, container, ("set", "trust_remote_code"), message, hint)
