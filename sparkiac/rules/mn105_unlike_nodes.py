"""The hosts of a group have two drivers or two images.

vLLM asks for an identical environment on every node of a group, best by one image. The nodes also exchange data through
the driver. No source has measured such a mix, so nobody knows that it works. It is usually a typing error, or an update
that was made on one host only. `sparkiac fabric verify` compares the drivers that run.

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

from sparkiac.plan import Plan
from sparkiac.rules.deployments import groups
from sparkiac.rules.rule import Hit, hit, rule

_SAME_ENVIRONMENT: Final = (
    "https://github.com/vllm-project/vllm/blob/096bd6a4a109b13698ab85782cc1a3630aa002ee/docs/serving/"
    "parallelism_scaling.md"
)
RULE: Final = rule(__name__, ("advice", "maker"), _SAME_ENVIRONMENT, profile="recommended")


def check(plan: Plan) -> Iterator[Hit]:
    """Find the nodes of groups whose driver or image is another than the leader's."""
    for members in groups(plan):
        (first, leader), *others = sorted(members, key=lambda each: not each[1].server.leads)
        for host, node in others:
            one, other = first.values.driver, host.values.driver
            if one and other and not (f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")):
                message = f"{node.name} runs with driver {one} on {first.name} and {other} on {host.name}"
                yield Hit(("hosts", host.name, "driver"), message, "require one driver on all of them", host=host.name)
            if leader.image.reference != node.image.reference:
                images = f"{leader.image.reference} on {first.name} and {node.image.reference} on {host.name}"
                yield hit(host, node, ("image",), f"{node.name} runs {images}", "use one image on all of them")
