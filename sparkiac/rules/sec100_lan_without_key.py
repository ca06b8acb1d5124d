"""Everyone on the network can use the model.

By default a deployment listens on its host's own address, and it requires no key unless one is set (Spark guide
L623-624). That is intended on a private network; elsewhere set a key, or bind the deployment to loopback or to the
direct links. Ollama does not support keys.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    bind: lan
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    bind: lan
    api_key: {secret: vllm_api_key}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.plan.topology import EVERY, LOOPBACK
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("exposed", "source"), "vLLM: --api-key", "Spark guide L615, L722", profile="strict")
_ELSEWHERE: Final = frozenset({LOOPBACK, EVERY})


def check(plan: Plan) -> Iterator[Hit]:
    """Find engines that listen on the host's own address and require no key."""
    for host in plan.hosts:
        inside = _ELSEWHERE | host.link_addresses
        for container in host.containers:
            address, port = container.network.listen or (EVERY, 0)
            if container.server.engine is not None and not container.secrets and address not in inside:
                message = f"{container.name} answers without a key at {address}:{port}"
                hint = "add api_key: {secret: vllm_api_key}, or bind: loopback"
                yield hit(host, container, ("bind",), message, hint)
