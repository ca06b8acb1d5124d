"""An image has no digest.

A tag is a name that its owner can move: what was reviewed is then not what runs, and nobody sees the change. The
lock holds the digest of every image; `sparkiac lock` writes it. A reference with `@sha256:…` is pinned by itself.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1.2", on: spark-01, port: 8765}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr:
    kind: container
    image: example.org/asr:1.2@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8765
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

RULE: Final = Rule(
    code="IMG003",
    slug="unpinned-image",
    severity=Severity.ERROR,
    sources=("Spark guide L3, L105, L112", "vLLM blog L27, L62"),
    since="0.1.0",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers whose image has no digest."""
    for host in plan.hosts:
        for container in host.containers:
            if container.image.digest is None:
                leaf = container.path if container.kind == "service" else (*container.path, host.name)
                message = f"{container.name} runs {container.image.reference}, which the lock does not pin"
                hint = "add it to the lock, or write its digest after @ in the inventory"
                yield Hit((*container.path, "image"), message, hint, leaf=(*leaf, "image"), host=host.name)
