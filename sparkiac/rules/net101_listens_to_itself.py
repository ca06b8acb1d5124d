"""The server listens only inside its own container.

With `host: 127.0.0.1` or `localhost`, a server in a container accepts connections only from inside that container: its
probe succeeds, and every client is refused. Use `bind` instead of `host`: it sets the address of the host on which the
port is published.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {host: 127.0.0.1}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    bind: loopback
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.plan import Plan
from sparkiac.rules.deployments import models
from sparkiac.rules.rule import Hit, removable, rule

RULE: Final = rule(
    __name__, ("fails", "format"), "Spark guide L614-619: a container is reached where its server listens on 0.0.0.0"
)
_ITSELF: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers in a separate network that listen on its loopback."""
    for host, container in models(plan):
        option = engines.named(container.server.engine).host
        address = container.server.options.get(option)
        if not container.network.host and address in _ITSELF:
            message = f"{container.name} listens on {address} inside its container, where no client can reach it"
            hint = f"remove {option}; `bind` sets the address of the host"
            yield removable(host, container, ("set", option), message, hint)
