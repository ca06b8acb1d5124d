"""A group with RDMA devices turns RDMA off.

With NCCL_IB_DISABLE=1, NCCL uses TCP, which costs speed. The other RoCE variables of the SM121 reference (L42-46) are
set for every group with RDMA devices, and the GID index is looked up on each host.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
    env: {NCCL_IB_DISABLE: 1}
```

Good:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
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

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.deployments import nodes
from sparkiac.rules.rule import Hit, hit, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
RULE: Final = rule(__name__, Severity.WARNING, "SM121 reference L42-46", "DeepSeek-V4 thread L277")


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes whose links name RDMA devices, but whose environment turns RDMA off."""
    for host, container in nodes(plan):
        env = container.command.env
        if "NCCL_IB_HCA" in env and env.get("NCCL_IB_DISABLE", "0") != "0":
            message = f"{container.name} has RDMA devices, but NCCL_IB_DISABLE turns them off"
            yield hit(host, container, ("env", "NCCL_IB_DISABLE"), message, "remove NCCL_IB_DISABLE to use RDMA")
