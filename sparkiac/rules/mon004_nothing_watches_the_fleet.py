"""The servers of the fleet have no external monitoring.

A unit that dies or hangs is restarted on its host. Nobody notices a host that is off, a network that is down, or a
server that crashes again and again. In the dual-Spark post a timer checked seven addresses every 15 minutes, sent a
message on a failure and was silent otherwise: it found the crash by prefix caching within 15 minutes (L119-121). The
hint lists the addresses to check; allow this finding once they are monitored.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: base/single-spark, model: example/model, on: spark-01}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: base/single-spark, model: example/model, on: spark-01}
allow:
  - {code: MON004, reason: a timer on another machine asks /health of each and sends a message}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="MON004",
    slug="nothing-watches-the-fleet",
    severity=Severity.INFO,
    sources=("dual-Spark post L119-121",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find a fleet with servers that have a health address."""
    watched = [address for host in plan.hosts for each in host.containers for address in _addresses(each)]
    if watched:
        message = f"no external monitoring checks the fleet's {len(watched)} health addresses"
        hint = f"check each every 15 minutes and send a message when one fails: {', '.join(watched)}"
        yield Hit(("name",), message, hint)


def _addresses(container: Container) -> Iterator[str]:
    """Return the health address of a server, if it listens and has one."""
    if container.network.listen is not None and container.checks.path is not None:
        address, port = container.network.listen
        yield f"http://{address}:{port}{container.checks.path}"
