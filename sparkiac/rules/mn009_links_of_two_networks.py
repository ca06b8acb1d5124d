"""Two hosts of a group share no network over their links.

The nodes of a group connect directly to each other. Either the first links of all hosts are in one network, by a cable
between two hosts or by a switch, or each cable has a network of its own and the cables form a closed ring in the order
of the hosts under `hosts`. With three hosts, this is a cable for each pair ([cluster](https://forums.developer.nvidia.com/t/three-node-spark-clusters-without-a-switch-are-now-supported-in-spark-vllm-docker-and-sparkrun/365296)).

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
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.178.12/24}]}
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
from ipaddress import ip_interface
from typing import Final

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.resolve.fabric import networks_of, unlinked
from sparkiac.rules.deployments import groups
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "arithmetic"), "Spark guide L657-658", "SM121 reference L37")


_EVERY_PAIR: Final = 3
"""Largest group in which a closed ring connects each pair of hosts directly."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find groups in which two neighbours share no network."""
    for members in groups(plan):
        hosts = [host for host, _ in sorted(members, key=lambda each: _rank(each[1]))]
        links = [host.links for host in hosts]
        first = {ip_interface(each[0].address).network for each in links}
        missing = unlinked(links)
        if len(first) > 1 and missing:
            one, other = sorted((hosts[index] for index in missing[0]), key=lambda host: host.name)
            group = members[0][1]
            message = (
                f"{one.name} ({_listed(one)}) and {other.name} ({_listed(other)}) of {group.name} share no network"
            )
            yield Hit((*group.path, "hosts"), message, _hint(len(hosts)))


def _rank(container: Container) -> int:
    assert container.server.node is not None, "it is the node of a group"  # noqa: S101
    return container.server.node[0]


def _hint(size: int) -> str:
    hint = "give the ends of a cable, or all ports at a switch, addresses in one network"
    return f"{hint}; list the hosts of a ring under `hosts` in the order of the cables" if size > _EVERY_PAIR else hint


def _listed(host: HostPlan) -> str:
    return ", ".join(sorted(map(str, networks_of(host.links))))
