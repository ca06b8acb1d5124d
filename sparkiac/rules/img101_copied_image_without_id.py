"""A host copies its images from another host, and the lock lacks the ID of one of them.

An image that is copied from host to host loses its registry digest: the host identifies it only by its ID, which is the
digest of its configuration. The playbook compares that ID after the copy, and the unit runs it. `sparkiac lock` writes
it into the lock (`config`).

The lock of both examples:

```yaml
version: 1
images:
  "example.org/old:1": {digest: "sha256:1111111111111111111111111111111111111111111111111111111111111111"}
  "example.org/new:1":
    digest: "sha256:1111111111111111111111111111111111111111111111111111111111111111"
    config: "sha256:2222222222222222222222222222222222222222222222222222222222222222"
```

Bad:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12, images_from: spark-01}
services:
  asr: {kind: container, image: "example.org/old:1", hosts: spark-02, port: 8765}
```

Good:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12, images_from: spark-01}
services:
  asr: {kind: container, image: "example.org/new:1", hosts: spark-02, port: 8765}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__, ("fails", "format"), "Docker: docker save and docker load keep no registry digest", waivable=False
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find images that a host copies without a known ID. A built image always has one."""
    for host, container in plan.containers:
        image = container.image
        if image.copied and image.id is None and image.build is None:
            message = f"{host.name} copies {image.reference} from another host, but the lock has no ID for it"
            yield hit(host, container, ("image",), message, "run sparkiac lock")
