"""Two services of one host use the same port.

The second one cannot start, because the port is in use. Ports on different addresses of a host do not collide; 0.0.0.0
means all addresses. Units of different `turns` never run together, and may use the same port.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr:
    kind: container
    image: example.org/asr@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8765
  tts:
    kind: container
    image: example.org/tts@sha256:2222222222222222222222222222222222222222222222222222222222222222
    on: spark-01
    port: 8765
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr:
    kind: container
    image: example.org/asr@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8765
  tts:
    kind: container
    image: example.org/tts@sha256:2222222222222222222222222222222222222222222222222222222222222222
    on: spark-01
    port: 8882
```
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import HostPlan, Plan

RULE: Final = Rule(
    code="NET007",
    slug="port-used-twice",
    severity=Severity.ERROR,
    sources=("dual-Spark post L103-110: two models and three services share two hosts",),
    since="0.1.0",
    waivable=False,
)
_EVERY: Final = "0.0.0.0"  # noqa: S104  compared, not bound


def check(plan: Plan) -> Iterator[Hit]:
    """Find pairs of units that listen on the same address and port of a host."""
    return iter(dict.fromkeys(hit for host in plan.hosts for view in host.views for hit in _collisions(view)))


def _collisions(host: HostPlan) -> Iterator[Hit]:
    listening = [unit for unit in host.units if unit.network.listen is not None]
    for first, second in combinations(listening, 2):
        if (
            first.network.listen is not None
            and second.network.listen is not None
            and _collide(first.network.listen, second.network.listen)
        ):
            port = second.network.listen[1]
            message = f"port {port} of {host.name} is used twice, by {first.name} and by {second.name}"
            yield Hit((*second.path, "port"), message, f"give {second.name} another port", host=host.name)


def _collide(first: tuple[str, int], second: tuple[str, int]) -> bool:
    return first[1] == second[1] and (first[0] == second[0] or _EVERY in {first[0], second[0]})
