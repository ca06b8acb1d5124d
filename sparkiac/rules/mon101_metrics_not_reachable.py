"""Prometheus cannot reach the metrics of a server.

A port on loopback is reachable only from its own host, and an address of the direct link only from hosts that have such
a link. Without its metrics, no alert about this server fires. Prometheus uses the network of its host, so it reaches
ports on the loopback of that host.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    bind: loopback
monitoring:
  prometheus: {hosts: spark-02}
  alerts: {telegram: {chat_id: 12345, token: {secret: telegram_token}}}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
monitoring:
  prometheus: {hosts: spark-02}
  alerts: {telegram: {chat_id: 12345, token: {secret: telegram_token}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import no_route
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("ignored", "arithmetic"), "Spark guide §10 L383: telemetry at /metrics of each server")


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers and exporters on addresses that Prometheus cannot reach."""
    for target in plan.unwatched:
        where = "{}:{}".format(*target.listen)
        name = target.labels.get("deployment", target.labels.get("gateway", target.job))
        why = no_route(target.obstacle)
        message = f"Prometheus cannot reach the metrics of {name}, which listens on {where} of {target.host}: {why}"
        key = ".".join(map(str, target.path))
        yield Hit((*target.path, "bind"), message, f"write `bind: lan` under {key}", host=target.host)
