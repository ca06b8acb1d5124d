"""The hosts of a group have two drivers, two images, or other software that the lock pins and that differs.

vLLM asks for an identical environment on every node of a group, best by one image. The nodes also exchange data through
the driver. No source has measured such a mix, so nobody knows that it works. It is usually a typing error, or an update
that was made on one host only. `sparkiac fabric verify` compares the drivers that run.

`sparkiac lock --hosts` pins kernel, driver, container toolkit, Docker and firmware of the hosts; what differs there
between the nodes of a group is a finding too. One owner's host froze under load with another toolkit than its
neighbour's; the difference was the only trace.

Bad:

```yaml
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    driver: "580.142"
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    driver: "580.126"
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
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
    driver: "580.142"
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    driver: "580"
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
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

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.rules.deployments import groups
from sparkiac.rules.rule import Hit, hit, rule

_SAME_ENVIRONMENT: Final = (
    "https://github.com/vllm-project/vllm/blob/096bd6a4a109b13698ab85782cc1a3630aa002ee/docs/serving/"
    "parallelism_scaling.md"
)
_FROZE: Final = "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1910"
RULE: Final = rule(__name__, ("advice", "maker"), _SAME_ENVIRONMENT, _FROZE, profile="recommended")
_NAMED: Final = 4
"""Differences that a message names."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find the nodes of groups whose driver or image is another than the leader's."""
    for members in groups(plan):
        (first, leader), *others = sorted(members, key=lambda each: not each[1].server.leads)
        for host, node in others:
            one, other = first.values.driver, host.values.driver
            if one and other and not (f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")):
                message = f"{node.name} runs with driver {one} on {first.name} and {other} on {host.name}"
                yield Hit(("hosts", host.name, "driver"), message, "require one driver on all of them", host=host.name)
            yield from _differing(first, host, node)
            if leader.image.reference != node.image.reference:
                images = f"{leader.image.reference} on {first.name} and {node.image.reference} on {host.name}"
                yield hit(host, node, ("image",), f"{node.name} runs {images}", "use one image on all of them")


def _differing(first: HostPlan, host: HostPlan, node: Container) -> Iterator[Hit]:
    """Find what the lock pins differently for two hosts."""
    found = [*first.pins.differing(host.pins)] if first.pins and host.pins else []
    if found:
        shown = ", ".join(f"{what} {one} and {other}" for what, one, other in found[:_NAMED])
        more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        message = f"{node.name} runs on {first.name} and {host.name}, whose pinned software differs: {shown}{more}"
        hint = "install the same versions on both, then sparkiac lock --hosts --upgrade"
        yield Hit(("hosts", host.name), message, hint, host=host.name)
