"""The two interfaces of one port have addresses in the same network.

The kernel then sends all traffic of the network through one of the two interfaces, and half of the cable is idle. Give
the second interface an address in a network of its own, or none: RDMA needs no address on it.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric:
      links:
        - interface: enp1s0f1np1
          hca: rocep1s0f1
          address: 192.168.177.11/24
          twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1, address: 192.168.177.21/24}
deployments:
  chat:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
```

Good:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric:
      links:
        - interface: enp1s0f1np1
          hca: rocep1s0f1
          address: 192.168.177.11/24
          twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1, address: 192.168.178.11/24}
deployments:
  chat:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
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

RULE: Final = rule(__name__, ("ignored", "arithmetic"), "spark-vllm-docker, docs/NETWORKING.md")


def check(plan: Plan) -> Iterator[Hit]:
    """Find links whose twin has an address in the same network."""
    for host, link, path in links(plan):
        if link.twin is None or link.twin.address is None:
            continue
        network = ip_interface(link.address).network
        if ip_interface(link.twin.address).network == network:
            message = f"{link.interface} and {link.twin.interface} of {host.name} are both in {network}"
            hint = "give `twin` an address in another network, or none"
            yield Hit((*path, "twin", "address"), message, hint, host=host.name)
