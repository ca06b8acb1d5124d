"""The model is available without a key on every interface of the host.

The server requires no key unless one is set (Spark guide L623-624), and all commands of the sources but one listen on
0.0.0.0 without one. Set a key for the deployment, or bind it to an address that only its clients can reach. Ollama does
not support keys: keep it on loopback. If the network itself is protected, allow the finding and give the reason.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    bind: any
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
    bind: any
    api_key: {secret: vllm_api_key}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.plan.topology import EVERY
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("exposed", "source"), "vLLM: --api-key", "Spark guide L615, L623-624, L722-723")


def check(plan: Plan) -> Iterator[Hit]:
    """Find engines that listen on all interfaces and require no key."""
    for host, container in plan.containers:
        open_to_all = (container.network.listen or ("",))[0] == EVERY and not container.secrets
        if container.server.engine is not None and open_to_all:
            message = f"{container.name} answers without a key on every interface of {host.name}"
            hint = "add api_key: {secret: vllm_api_key}, or bind: loopback, lan or fabric"
            yield hit(host, container, ("bind",), message, hint)
