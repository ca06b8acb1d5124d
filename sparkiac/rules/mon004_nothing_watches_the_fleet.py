"""Nothing asks the servers of the fleet from outside and tells somebody.

A unit that dies or hangs is restarted on its host. A host that is off, a network that is cut, or a server that crashes
again and again is seen by nobody. In the dual-Spark post a timer asked seven addresses every 15 minutes, sent a message
on a failure and was silent otherwise: it found the crash by prefix caching within 15 minutes (L119-121). The hint names
the addresses to ask; allow it once something does.

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
    """Find a fleet with servers that can be asked."""
    asked = [address for host in plan.hosts for each in host.containers for address in _asked(each)]
    if asked:
        message = f"nothing asks the fleet's {len(asked)} addresses from outside and tells somebody when one fails"
        yield Hit(("name",), message, f"ask each every 15 minutes: {', '.join(asked)}")


def _asked(container: Container) -> Iterator[str]:
    """Give the address at which a server tells whether it is well, if it listens and has one."""
    if container.network.listen is not None and container.checks.path is not None:
        address, port = container.network.listen
        yield f"http://{address}:{port}{container.checks.path}"
