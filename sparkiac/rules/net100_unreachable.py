"""A service uses another one that it cannot reach from where it runs.

A port on loopback is reachable only from its own host, and a container has its own loopback: only a container of the
same host can reach it, over the network that the two then share. An address of the direct link is reachable only from
hosts that have such a link. Publish each service where its clients can reach it.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
deployments:
  qwen36:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    bind: loopback
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-02
    uses: [qwen36]
```

Good, on one Spark, because two containers of one host share a network:

```yaml
deployments:
  qwen36:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    bind: loopback
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    uses: [qwen36]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import no_route
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "format"),
    "Spark guide L606-619, L633-636: ways from a container to a port, and an agent on loopback",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find services that use an address which they cannot reach."""
    for host in plan.hosts:
        for asker in host.dependents:
            for link in asker.dependencies:
                if link.url is None and link.listen is not None:
                    where = "{}:{}".format(*link.listen)
                    message = (
                        f"{asker.name} on {host.name} cannot reach {link.name}, which listens on {where} of {link.host}"
                    )
                    key, why = ".".join(map(str, link.target or ())), no_route(link.obstacle)
                    yield Hit(link.path, f"{message}: {why}", f"write `bind: lan` under {key}", host=host.name)
