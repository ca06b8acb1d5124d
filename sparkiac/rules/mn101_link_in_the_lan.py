"""The network of a link contains the address that the host has in the LAN.

The host then has two routes to the same network, and which of them a connection takes is not certain. Choose a network
for the links that nothing else uses.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.1.111/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.1.112/24}]}
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
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import links
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("unknown", "arithmetic"), "IP routing: two interfaces of one host in one network")


def check(plan: Plan) -> Iterator[Hit]:
    """Find links whose network contains the address of a host of the fleet."""
    for host, link, path in links(plan):
        network = ip_interface(link.address).network
        if _within(host.address, network):
            message = f"{link.interface} of {host.name} is in {network}, as the address {host.address} of the host"
            hint = "use a network that nothing else uses, such as 192.168.177.0/24"
            yield Hit((*path, "address"), message, hint, host=host.name)


def _within(address: str, network: IPv4Network | IPv6Network) -> bool:
    try:
        return ip_address(address) in network
    except ValueError:  # a name
        return False
