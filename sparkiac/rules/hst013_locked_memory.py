"""A node that uses RDMA has a limit on locked memory.

RDMA locks the buffers that it registers, and a container cannot lock more than its limit. A group with RDMA devices has
no limit (memlock -1), as in the sources' commands (dual-Spark post L37, Spark guide L725), unless another one is set.

Bad, on two Sparks:

```yaml
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
    container: {ulimits: {memlock: 67108864}}
```

Good, on two Sparks:

```yaml
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import nodes
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("advice", "measured"), "dual-Spark post L37-38, L80-81", "Spark guide L725")
_UNLIMITED: Final = -1


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes with RDMA devices and a limit on locked memory."""
    for host, container in nodes(plan):
        if container.confinement.devices and container.confinement.ulimits.get("memlock") != _UNLIMITED:
            message = f"{container.name} uses RDMA on {host.name} with a limit on locked memory"
            hint = "remove memlock from container.ulimits, or set it to -1"
            yield hit(host, container, ("container", "ulimits", "memlock"), message, hint)
