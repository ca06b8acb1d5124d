"""A group with RDMA does not set all RoCE variables.

NCCL then falls back to TCP, or runs into timeouts. The SM121 reference sets five variables (L42-46); its GID index 3 is
RoCEv2 with IPv4 there, and `show_gids` shows yours. A value that differs is not reported, a missing one is. A recipe
for several machines is used as its source ran it: that of the DeepSeek-V4 thread sets only NCCL_IB_DISABLE (L277).

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
    on: [spark-01, spark-02]
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
    on: [spark-01, spark-02]
    port: 8001
    env:
      NCCL_IB_DISABLE: 0
      NCCL_IB_GID_INDEX: 3
      NCCL_NET_PLUGIN: none
      NCCL_IB_ROCE_VERSION_NUM: 2
      NCCL_IB_TIMEOUT: 22
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.deployments import hit
from sparkiac.rules.readings import own
from sparkiac.rules.rule import Rule
from sparkiac.rules.shares import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MN003",
    slug="roce-settings",
    severity=Severity.WARNING,
    sources=(
        "SM121 reference L42-46",
        "DeepSeek-V4 thread L277",
    ),
    since="0.1.0",
)
_SETTINGS: Final = {
    "NCCL_IB_DISABLE": "0",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_NET_PLUGIN": "none",
    "NCCL_IB_ROCE_VERSION_NUM": "2",
    "NCCL_IB_TIMEOUT": "22",
}


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes with RDMA devices that lack one of the settings, or turn RDMA off."""
    for host, container in nodes(plan):
        missing = [name for name in _SETTINGS if name not in container.command.env]
        off = container.command.env.get("NCCL_IB_DISABLE", "0") != "0"
        made_for_groups = own(container).get("nodes", 1) > 1
        if container.confinement.devices and (off or (missing and not made_for_groups)):
            wanted = ["NCCL_IB_DISABLE"] if off else missing
            state = "turns it off with" if off else "does not set"
            message = f"{container.name} uses RDMA, but {state} {', '.join(wanted)}"
            values = ", ".join(f"{name}: {_SETTINGS[name]}" for name in wanted)
            yield hit(host, container, ("env", wanted[0]), message, f"add under env: {values}")
