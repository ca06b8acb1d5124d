"""An image has no digest.

The owner of a tag can move it: then the image that runs is not the one that was reviewed, and nobody notices. The lock
records the digest of every image. A reference with `@sha256:…` is pinned by itself. An image that is built from source
has no digest in any registry: it is pinned by its ID, which `sparkiac lock --record` writes once it is built.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1.2", hosts: spark-01, port: 8765}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr:
    kind: container
    image: example.org/asr:1.2@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8765
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report.hints import build_hint
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "contract"), "Spark guide L3, L105, L112", "vLLM blog L27, L62", waivable=False)


_ADD: Final = "run sparkiac lock, or write its digest after @ in the inventory"


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers whose image has no digest, and builds that start from such an image."""
    for host, container in plan.containers:
        image = container.image
        if image.digest is None and not image.stale:
            message = f"{container.name} runs {image.reference}, which the lock does not pin"
            hint = build_hint(image.build) if image.build else _ADD
            yield hit(host, container, ("image",), message, hint)
    for build in plan.builds:
        if build.base is not None and build.base.digest is None:
            message = f"the build {build.name} starts from {build.base.reference}, which the lock does not pin"
            yield Hit(build.path, message, _ADD, leaf=("builds", build.name, "base"))
