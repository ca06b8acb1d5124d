"""Two hosts of a group share no network over their links.

The nodes of a group connect directly to each other. Either the first links of all hosts are in one network, by a cable
between two hosts or by a switch, or each pair of hosts has a cable and a network of its own: three hosts without a
switch ([cluster](https://forums.developer.nvidia.com/t/three-node-spark-clusters-without-a-switch-are-now-supported-in-spark-vllm-docker-and-sparkrun/365296)).

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
    on: [spark-01, spark-02]
    port: 8001
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
```
"""

from __future__ import annotations

from ipaddress import ip_interface
from itertools import combinations
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.resolve.fabric import networks_of
from sparkiac.rules.rule import Hit, Rule
from sparkiac.rules.shares import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import HostPlan, Plan

RULE: Final = Rule(
    code="MN009",
    slug="links-of-two-networks",
    severity=Severity.ERROR,
    sources=(
        "Spark guide L657-658",
        "SM121 reference L37",
        "DeepSeek-V4 thread L346",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find groups in which a pair of hosts shares no network."""
    groups: dict[str, list[HostPlan]] = {}
    paths = {}
    for host, container in nodes(plan):
        groups.setdefault(container.name, []).append(host)
        paths[container.name] = (*container.path, "on")
    for name, hosts in groups.items():
        first = {ip_interface(host.links[0].address).network for host in hosts}
        apart = [pair for pair in combinations(hosts, 2) if not networks_of(pair[0].links) & networks_of(pair[1].links)]
        if len(first) > 1 and apart:
            one, other = apart[0]
            message = f"{one.name} ({_listed(one)}) and {other.name} ({_listed(other)}) of {name} share no network"
            yield Hit(
                paths[name], message, "give the ends of a cable, or all ports at a switch, addresses in one network"
            )


def _listed(host: HostPlan) -> str:
    return ", ".join(sorted(map(str, networks_of(host.links))))
