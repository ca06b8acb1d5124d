"""The build changed in the inventory after its image was built.

The lock records the ID of the built image and a hash of the build's inputs: repository, commit, picks, base image,
pinned packages. The build was changed after that, so the image that would run is not the one that the inventory
describes. Build it again and record it with `sparkiac lock --record`, or revert the change.

The lock of both examples:

```yaml
version: 1
images:
  example.org/base:1: {digest: "sha256:1111111111111111111111111111111111111111111111111111111111111111"}
builds:
  engine:
    id: sha256:2222222222222222222222222222222222222222222222222222222222222222
    spec: sha256:9587e8c001286da03a6e0901934621935a24b9fee3790c227f57cfc76e18dffe
```

Bad, as the commit is another one:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
builds:
  engine:
    why: no released image knows the model
    base: example.org/base:1
    repository: https://example.org/engine.git
    commit: "2222222222222222222222222222222222222222"
    install: [python3, -m, pip, install, .]
services:
  asr: {kind: container, image: engine, hosts: spark-01, port: 8765}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
builds:
  engine:
    why: no released image knows the model
    base: example.org/base:1
    repository: https://example.org/engine.git
    commit: "1111111111111111111111111111111111111111"
    install: [python3, -m, pip, install, .]
services:
  asr: {kind: container, image: engine, hosts: spark-01, port: 8765}
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
    "DeepSeek-V4 thread L5, L361-362: commits move, and a later one hung both machines",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers whose image was built from a former version of its build."""
    for host, container in plan.containers:
        if container.image.stale:
            message = f"{container.name} runs {container.image.reference}, built from a former version of its build"
            hint = build_hint(str(container.image.build))
            yield hit(host, container, ("image",), message, hint)
