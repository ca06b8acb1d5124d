"""A group with RDMA devices turns RDMA off, or fixes the index of the GID.

With NCCL_IB_DISABLE=1, NCCL uses TCP, which costs speed. The other RoCE variables of the SM121 reference (L42-46) are
set for every group with RDMA devices.

NCCL_IB_GID_INDEX is the place of an address in a table that the kernel fills. It differs between hosts, and it changes
with addresses and restarts. sparkiac looks it up on each host at every start, unless the inventory or a recipe sets it.
With a wrong index, NCCL ends or hangs.

Bad, on two Sparks:

```yaml
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
    env: {NCCL_IB_DISABLE: 1}
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
from sparkiac.rules.rule import Hit, hit, removable, rule

RULE: Final = rule(__name__, ("ignored", "source"), "NCCL: docs, env.html", "SM121 reference L42-46")
_INDEX: Final = "NCCL_IB_GID_INDEX"


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes whose links name RDMA devices, but whose environment turns RDMA off or fixes the GID index."""
    for host, container in nodes(plan):
        env = container.command.env
        if "NCCL_IB_HCA" in env and env.get("NCCL_IB_DISABLE", "0") != "0":
            message = f"{container.name} has RDMA devices, but NCCL_IB_DISABLE turns them off"
            yield hit(host, container, ("env", "NCCL_IB_DISABLE"), message, "remove NCCL_IB_DISABLE to use RDMA")
        elif "NCCL_IB_HCA" in env and _INDEX in env:
            message = f"{container.name} sets {_INDEX} to {env[_INDEX]}, so the index is not looked up on {host.name}"
            hint = "remove it: each start then looks up the index of the link's address"
            yield removable(host, container, ("env", _INDEX), message, hint)
