"""The first links of a group's hosts are not in the same network.

The nodes connect to the address of the leader's first link, which must be reachable from all of them. Two machines are
joined by one direct cable; three or more need a switch, because a cable for each pair makes a network for each pair
(Spark guide L657-658). The sources' links run at 200 Gb/s (L657) or at twice that (SM121 reference L37).

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
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule
from sparkiac.rules.shares import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

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
    """Find groups whose first links are in different networks."""
    groups: dict[str, list[tuple[str, str]]] = {}
    paths = {}
    for host, container in nodes(plan):
        network = ip_interface(host.links[0].address).network
        groups.setdefault(container.name, []).append((host.name, str(network)))
        paths[container.name] = (*container.path, "on")
    for name, found in groups.items():
        if len({network for _, network in found}) > 1:
            where = ", ".join(f"{host} in {network}" for host, network in found)
            hint = "give the first links addresses in one network; three or more hosts need a switch"
            yield Hit(paths[name], f"the first links of the hosts of {name} are in different networks: {where}", hint)
