"""Prometheus or Alertmanager can be used by everyone on the network.

Neither has a login: whoever reaches Prometheus reads all metrics with the names of models and hosts; whoever reaches
Alertmanager can silence alerts (Prometheus, docs/operating/security.md). Both listen on loopback by default; look at
them through SSH. Grafana has a login: run it on the host of Prometheus, or bind Prometheus to the direct link.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
monitoring:
  prometheus: {hosts: spark-01, bind: any}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
monitoring:
  prometheus: {hosts: spark-01}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.plan.topology import LOOPBACK
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("exposed", "source"),
    "Prometheus, docs/operating/security.md: presumed untrusted users, no authentication by default",
)
_WITHOUT_LOGIN: Final = (("monitoring", "prometheus"), ("monitoring", "alertmanager"))


def check(plan: Plan) -> Iterator[Hit]:
    """Find Prometheus and Alertmanager on addresses that are neither loopback nor a direct link."""
    for host in plan.hosts:
        inside = {LOOPBACK} | host.link_addresses
        for container in host.containers:
            address, port = container.network.listen or (LOOPBACK, 0)
            if container.path in _WITHOUT_LOGIN and address not in inside:
                message = f"{container.name} answers without a login at {address}:{port} of {host.name}"
                yield hit(host, container, ("bind",), message, "remove `bind:`, or write `bind: fabric`")
