"""The ends of a link have different MTUs.

The end with the larger MTU sends frames that the other end drops: small messages arrive, and transfers of tensors hang.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24, mtu: 9000}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24, mtu: 1500}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
```

Good:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24, mtu: 9000}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24, mtu: 9000}]}
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
from ipaddress import ip_interface
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import links
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("ignored", "format"), "Ethernet: a frame larger than the MTU of the receiver is dropped")


def check(plan: Plan) -> Iterator[Hit]:
    """Find links in one network with different MTUs, as far as the inventory states them."""
    first: dict[object, tuple[str, int]] = {}
    for host, link, path in links(plan):
        if link.mtu is None:
            continue
        network = ip_interface(link.address).network
        other, mtu = first.setdefault(network, (host.name, link.mtu))
        if mtu != link.mtu:
            message = f"{link.interface} of {host.name} has an MTU of {link.mtu}, but {other} has {mtu} in {network}"
            yield Hit((*path, "mtu"), message, "use one MTU in a network", host=host.name)
