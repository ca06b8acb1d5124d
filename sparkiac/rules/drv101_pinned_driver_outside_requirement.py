"""The driver that the lock pins for a host is not the one that it must run.

`driver:` of a host is a requirement, and so is the oldest driver of each image. The lock pins the driver that the host
runs. If they contradict each other, the preflight would refuse the host.

The lock of both examples:

```yaml
version: 1
images: {}
hosts:
  sets:
    a: {driver: "580.173.02", since: "2026-09-01", review_by: "2026-10-01"}
  members: {spark-01: a}
```

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11, driver: "580.142"}}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11, driver: "580"}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.host.preflight.machine import image_driver, in_series
from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "contract"), "the contract of the tree: a pin is what its requirement allows")
_FAILED: Final = "FAIL"


def check(plan: Plan) -> Iterator[Hit]:
    """Find hosts whose pinned driver is outside a requirement."""
    for host in plan.hosts:
        pinned = host.pins.driver if host.pins else None
        if pinned is None:
            continue
        wanted = [host.values.driver] if host.values.driver and not in_series(pinned, host.values.driver) else []
        images = (image_driver(pinned, each._asdict()) for each in host.preflight.image_drivers)
        wanted += [f"{each.wanted} ({each.check})" for each in images if each.state == _FAILED]
        for each in wanted:
            message = f"{host.name} has driver {pinned} in the lock, and must run {each}"
            hint = f"install that driver and run sparkiac lock --hosts --upgrade {host.name}, or change the requirement"
            yield Hit(("hosts", host.name), message, hint, host=host.name)
