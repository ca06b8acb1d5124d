"""The traffic of a group is bound to an interface that is not one of its links.

NCCL and Gloo then use the office network: Ethernet is 10 to 20 times slower (Spark guide L659-660), and Ray may pick
any interface (SM121 reference L53-54). By default each group is bound to the first link of its hosts. The two sources
print two names, enP2p1s0f1np1 and enp1s0f1np1: both are ports of the same card, so the name differs between hosts and
belongs under `fabric.links`.

Bad, on two Sparks:

```yaml
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: [spark-01, spark-02]
    port: 8001
    env: {NCCL_SOCKET_IFNAME: eth0}
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
from sparkiac.rules.deployments import nodes
from sparkiac.rules.rule import Hit, removable, rule

RULE: Final = rule(__name__, ("ignored", "contract"), "Spark guide L659-660", "SM121 reference L53-54")
_VARIABLES: Final = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


def check(plan: Plan) -> Iterator[Hit]:
    """Find nodes that are bound to other interfaces. NCCL matches prefixes of names, and whole names after `=`."""
    for host, container in nodes(plan):
        links = [link.interface for link in host.links]
        for variable in _VARIABLES:
            chosen = container.command.env.get(variable, "^").lstrip("=").split(",")
            excludes = chosen[0].startswith("^")
            if not excludes and not any(link.startswith(name) for link in links for name in chosen):
                there = ", ".join(links)
                message = (
                    f"{container.name} sets {variable} to {','.join(chosen)}, but the links of {host.name} use {there}"
                )
                hint = "remove it: sparkiac derives it from fabric.links"
                yield removable(host, container, ("env", variable), message, hint)
