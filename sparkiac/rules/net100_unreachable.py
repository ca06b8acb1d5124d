"""A service uses another one that it cannot reach from where it runs.

What listens on loopback is reached from its own host alone, and a container has a loopback of its own: there only a
container of the same host is reached, over the network that both then share. An address of the direct link is reached
from hosts that have one. Publish what is used where it can be reached.

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
    on: spark-01
    port: 8001
    bind: loopback
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-02
    uses: [qwen36]
```

Good, because two containers of one host share a network:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  qwen36:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    bind: loopback
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    uses: [qwen36]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

RULE: Final = Rule(
    code="NET100",
    slug="unreachable",
    severity=Severity.ERROR,
    sources=("Spark guide L606-619, L633-636: ways from a container to a port, and an agent on loopback",),
    since="0.1.0",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find links that lead nowhere."""
    for host in plan.hosts:
        for asker in host.dependents:
            for link in asker.dependencies:
                if link.url is None and link.listen is not None:
                    where = "{}:{}".format(*link.listen)
                    message = (
                        f"{asker.name} on {host.name} cannot reach {link.name}, which is at {where} of {link.host}"
                    )
                    why = (
                        "only that machine itself reaches it"
                        if link.obstacle == "loopback"
                        else "no fabric leads there"
                    )
                    key = ".".join(map(str, link.target or ()))
                    yield Hit(link.path, f"{message}: {why}", f"write `bind: lan` under {key}", host=host.name)
