"""The inventory does not name the RDMA devices of a group's node, so the group uses TCP.

NCCL then runs with NCCL_IB_DISABLE=1 over the first link, because it can hang forever without an error if it tries
every device itself (SM121 reference L40-41, L74). TCP costs speed: each token of a group waits for the link several
times. Name the device beside each interface under `fabric.links`, as `ibdev2netdev` shows it.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.12/24}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
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
from sparkiac.rules.deployments import nccl_nodes
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("ignored", "contract"), "SM121 reference L40-41, L74", "DeepSeek-V4 thread L268-278")


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes without NCCL_IB_HCA."""
    for host, container in nccl_nodes(plan):
        if "NCCL_IB_HCA" not in container.command.env:
            message = f"{container.name} uses TCP on {host.name}: no link names an RDMA device"
            hint = f"add hca to hosts.{host.name}.fabric.links, as ibdev2netdev shows it"
            yield Hit((*container.path, "hosts"), message, hint, host=host.name)
