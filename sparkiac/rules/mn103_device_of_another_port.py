"""The names of an interface and of its RDMA device belong to different ports.

Linux names both after the PCI address: rocep1s0f1 is the device of enp1s0f1np1, roceP2p1s0f1 that of enP2p1s0f1np1.
preflight compares them on the host; `ibdev2netdev` prints the pairs.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f0, address: 192.168.177.11/24}]}
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

import re
from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report import Path
from sparkiac.rules.deployments import links
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("unknown", "format"), "spark-vllm-docker, docs/NETWORKING.md: output of ibdev2netdev")

_INTERFACE: Final = re.compile(r"en(P?[0-9a-fp]*s[0-9]+f[0-9]+)np[0-9]+")
_DEVICE: Final = re.compile(r"roce(P?[0-9a-fp]*s[0-9]+f[0-9]+)")


def check(plan: Plan) -> Iterator[Hit]:
    """Find links and twins whose names contain different PCI addresses."""
    for host, link, path in links(plan):
        ends: list[tuple[Path, str, str | None]] = [((*path, "hca"), link.interface, link.hca)]
        if link.twin is not None:
            ends.append(((*path, "twin", "hca"), link.twin.interface, link.twin.hca))
        for place, interface, device in ends:
            if _differ(interface, device or ""):
                message = f"{device} is not the RDMA device of {interface} on {host.name}"
                yield Hit(place, message, "run ibdev2netdev on the host", host=host.name)


def _differ(interface: str, device: str) -> bool:
    one, other = _INTERFACE.fullmatch(interface), _DEVICE.fullmatch(device)
    return one is not None and other is not None and one[1] != other[1]
