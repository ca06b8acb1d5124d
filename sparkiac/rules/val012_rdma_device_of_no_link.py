"""NCCL is set to use RDMA devices that none of the host's links has.

NCCL matches NCCL_IB_HCA against the beginning of device names, or after `=` against whole names. If no device matches,
it uses TCP instead of RDMA. The names differ between systems: the same card is `mlx5_0` or `rocep1s0f1`, as
`ibdev2netdev` shows it. By default each group uses the devices of its hosts' links.

Bad, on two Sparks:

```yaml
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    hosts: [spark-01, spark-02]
    port: 8001
    env: {NCCL_IB_HCA: mlx5_0}
```

Good, on two Sparks:

```yaml
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    hosts: [spark-01, spark-02]
    port: 8001
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import HostPlan, Plan
from sparkiac.report import placeholders
from sparkiac.rules.deployments import nodes
from sparkiac.rules.rule import Hit, removable, rule

RULE: Final = rule(
    __name__, ("ignored", "source"), "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
)
_VARIABLE: Final = "NCCL_IB_HCA"
_TWINS: Final = (("rocep", "roceP2p"), ("roceP2p", "rocep"))
"""Each port of a DGX Spark has two devices, of which the inventory names one or both."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes whose variable matches no device of the host's links."""
    for host, container in nodes(plan):
        chosen, devices = container.command.env.get(_VARIABLE, ""), _devices(host)
        if devices and chosen and not chosen.startswith("^") and not _matches(chosen, devices):
            there = ", ".join(link.hca or "" for link in host.links)
            message = f"{container.name} sets {_VARIABLE} to {chosen}, but the links of {host.name} have {there}"
            hint = "remove it: sparkiac derives it from fabric.links"
            yield removable(host, container, ("env", _VARIABLE), message, hint)


def _devices(host: HostPlan) -> tuple[str, ...]:
    """Return the RDMA devices of a host's links and their twins; nothing if one of them is unknown."""
    named = [link.hca for link in host.links if link.hca not in {None, placeholders.HCA}]
    known = [name for name in named if name is not None]
    twins = [name.replace(one, other, 1) for name in known for one, other in _TWINS if name.startswith(one)]
    return (*known, *twins) if len(known) == len(host.links) else ()


def _matches(chosen: str, devices: tuple[str, ...]) -> bool:
    names = [name.partition(":")[0] for name in chosen.removeprefix("=").split(",")]
    if chosen.startswith("="):
        return any(name in devices for name in names)
    return any(device.startswith(name) for device in devices for name in names)
