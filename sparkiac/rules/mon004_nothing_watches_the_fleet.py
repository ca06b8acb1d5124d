"""Nobody gets a message when a server of the fleet fails.

A unit that dies or hangs is restarted on its host. Nobody notices a host that is off, a network that is down, or a
server that crashes again and again. In the dual-Spark post a timer checked seven addresses every 15 minutes, sent a
message on a failure and was silent otherwise: it found the crash by prefix caching within 15 minutes (L119-121). The
fleet timer does the same; Prometheus with alerts does more. The finding also names what the host of the timer cannot
reach: servers that listen on loopback, or on a fabric that this host does not have.

Bad, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01}
```

Good, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01}
monitoring:
  timer: {hosts: spark-01}
  alerts: {telegram: {chat_id: 12345, token: {secret: telegram_token}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import HostPlan, Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("advice", "advice"), "dual-Spark post L119-121")
_ALERTS: Final = "{telegram: {chat_id: 12345, token: {secret: telegram_token}}}"
_REASONS: Final = {
    "loopback": "it listens only on loopback of {host}",
    "fabric": "it listens on the fabric of {host}, and {timer} has no fabric",
}


def check(plan: Plan) -> Iterator[Hit]:
    """Find a fleet whose failures cause no message, and servers that the fleet timer cannot reach."""
    served = sum(_serves(host) for host in plan.hosts)
    if served and not plan.is_watched:
        message = f"nobody gets a message when one of the fleet's {served} servers fails"
        lines = f"{{timer: {{hosts: {plan.hosts[0].name}}}, alerts: {_ALERTS}}}"
        yield Hit(("name",), message, f"add `monitoring: {lines}`; `alerts` may also have `email` or `webhook`")
    for timer in (host.fleet_timer for host in plan.hosts if host.fleet_timer):
        for each in timer.unwatched:
            reason = _REASONS[each.obstacle].format(host=each.host, timer=timer.check.host)
            message = f"the fleet timer on {timer.check.host} cannot check {each.name}: {reason}"
            yield Hit(each.path, message, "set `bind: lan`, or run the timer on the same host")


def _serves(host: HostPlan) -> int:
    """Return how many deployments and services of a host answer requests that can be checked."""
    own = [host.promises.get(unit.unit) for unit in host.units if unit.path[0] != "monitoring"]
    return sum(bool(promise and promise.url and (promise.health or promise.models)) for promise in own)
