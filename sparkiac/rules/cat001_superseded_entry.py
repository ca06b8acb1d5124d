"""The inventory uses a catalog entry that its own source withdrew.

A superseded recipe, variant or fragment stays in the catalog to record why it was replaced. You can still plan it to
look at it, but it should not be deployed.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: google/gemma-4-26b-a4b-it-fp8
    variant: draft-model
    hosts: spark-01
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: google/gemma-4-26b-a4b-it-fp8
    hosts: spark-01
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("wrong", "maker"), "dual-Spark post L101, L118", "Spark guide L156, L680, L785")


def check(plan: Plan) -> Iterator[Hit]:
    """Find entries in use that are superseded."""
    for host, container in plan.containers:
        for caution in container.server.superseded:
            message = f"{container.name} uses {caution.entry}, which is superseded: {caution.why}"
            hint = f"use {caution.instead}" if caution.instead is not None else "remove it"
            yield Hit(caution.path, message, hint, host=host.name)
