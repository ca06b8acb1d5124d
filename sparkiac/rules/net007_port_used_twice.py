"""Two services of one host use the same port.

The second one cannot start, because the port is in use. Ports on different addresses of a host do not collide; 0.0.0.0
means all addresses. Units of different `turns` never run together, and may use the same port.

The nodes of a group also open ports for each other, such as 29501 of the leader (see docs/cluster.md, "Ports without a
password"). Groups that share a host get different ones; a port that another unit of the host uses is found.

The SSH server of the host listens on all addresses, on port 22 or what `ssh: {port: …}` says. Its port is never closed,
so a unit that must not be reached before it has passed cannot have it.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr:
    kind: container
    image: example.org/asr@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8765
  tts:
    kind: container
    image: example.org/tts@sha256:2222222222222222222222222222222222222222222222222222222222222222
    hosts: spark-01
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
    hosts: spark-01
    port: 8765
  tts:
    kind: container
    image: example.org/tts@sha256:2222222222222222222222222222222222222222222222222222222222222222
    hosts: spark-01
    port: 8882
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Final, NamedTuple

from sparkiac.plan import HostPlan, Plan
from sparkiac.plan.topology import EVERY
from sparkiac.report import Path
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(
    __name__, ("fails", "arithmetic"), "dual-Spark post L103-110: five servers share two hosts", waivable=False
)

_SSH: Final = 22


def check(plan: Plan) -> Iterator[Hit]:
    """Find pairs of units that listen on the same address and port of a host."""
    checks = (_collisions, _of_groups, _of_ssh)
    found = (hit for host in plan.hosts for view in host.views for check in checks for hit in check(view))
    return iter(dict.fromkeys(found))


def _of_ssh(host: HostPlan) -> Iterator[Hit]:
    """Find units that listen on the port of the SSH server."""
    port = host.ssh_port or _SSH
    for unit in _listening(host):
        if unit.listen[1] == port:
            message = f"port {port} of {host.name} is used by {unit.name}, and by the SSH server of the host"
            yield Hit((*unit.path, "port"), message, f"give {unit.name} another port", host=host.name)


def _collisions(host: HostPlan) -> Iterator[Hit]:
    for first, second in combinations(_listening(host), 2):
        if _collide(first.listen, second.listen):
            port = second.listen[1]
            message = f"port {port} of {host.name} is used twice, by {first.name} and by {second.name}"
            yield Hit((*second.path, "port"), message, f"give {second.name} another port", host=host.name)


def _of_groups(host: HostPlan) -> Iterator[Hit]:
    """Find units that listen on a port that a node of a group opens for the other nodes."""
    opening = [each for each in host.containers if each.network.opened]
    for node, unit in product(opening, _listening(host)):
        port = unit.listen[1]
        if any(_collide((opens, port), unit.listen) and _within(port, ports) for opens, ports in node.network.opened):
            message = f"port {port} of {host.name} is used by {unit.name}, and by the nodes of group {node.name}"
            yield Hit((*unit.path, "port"), message, f"give {unit.name} another port", host=host.name)


class _Listener(NamedTuple):
    name: str
    path: Path
    listen: tuple[str, int]


def _listening(host: HostPlan) -> list[_Listener]:
    found = ((unit.name, unit.path, unit.network.listen) for unit in host.units)
    return [_Listener(name, path, listen) for name, path, listen in found if listen is not None]


def _within(port: int, ports: str) -> bool:
    first, _, last = ports.partition("-")
    return int(first) <= port <= int(last or first)


def _collide(first: tuple[str, int], second: tuple[str, int]) -> bool:
    return first[1] == second[1] and (first[0] == second[0] or EVERY in {first[0], second[0]})
