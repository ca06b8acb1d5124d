"""A model, tokenizer or drafter is not pinned to a commit.

A name on the model hub refers to a branch, and its owner can move it: then the weights, chat template and code of the
repository are not what was reviewed. `sparkiac lock` pins the commit and lists every file with its sha256. The commit
is passed to the server where it supports that (`--revision`), and the playbooks download only that commit.

The lock of both examples:

```yaml
version: 1
images: {}
models:
  example/model: {commit: "1111111111111111111111111111111111111111"}
```

Bad, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, model: example/another, hosts: spark-01}
```

Good, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.plan.weights import needed
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__, ("fails", "contract"), "Spark guide L164: new files under a drafter's old name", waivable=False
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find repositories that a container needs and the lock does not pin."""
    for host, container in plan.containers:
        for name in needed(container):
            if name not in container.weights.commits:
                message = f"{container.name} loads {name}, which the lock does not pin to a commit"
                yield hit(host, container, ("model",), message, "run sparkiac lock")
