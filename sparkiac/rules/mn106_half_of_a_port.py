"""A link names one half of its port.

Each QSFP port of a DGX Spark is two PCIe devices of about 100 Gbit/s, each with an interface and an RDMA device, and
NCCL uses only the devices that it is given. One pair of Sparks was measured with one and with both: 98 and 161 Gbit/s.
Another one went from 3 to 23.7 GB/s, with a larger MTU and another build of NCCL too. `sparkiac fabric discover` and
`sparkiac init` write both halves.

Bad, on two Sparks:

```yaml
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
    fabric:
      links:
        - interface: enp1s0f1np1
          hca: rocep1s0f1
          address: 192.168.177.11/24
          twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1}
  spark-02:
    address: 192.168.1.12
    fabric:
      links:
        - interface: enp1s0f1np1
          hca: rocep1s0f1
          address: 192.168.177.12/24
          twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1}
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
from sparkiac.rules.deployments import links
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(
    __name__,
    ("slow", "ab"),
    "https://github.com/tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark/pull/35",
    "https://github.com/NVIDIA/dgx-spark-playbooks/pull/103",
    profile="recommended",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find links without the other half of their port, by the record of the host's platform."""
    for host, link, path in links(plan):
        half = host.values.twin(link.interface)
        if link.hca is None or link.twin or half is None or half.hca in {each.hca for each in host.links}:
            continue
        message = f"{link.interface} of {host.name} is one half of a port; {half.interface} is the other one"
        hint = f"add twin: {{interface: {half.interface}, hca: {half.hca}}} to the link"
        yield Hit(path, message, hint, host=host.name)
