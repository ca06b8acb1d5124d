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

from sparkiac.host.preflight.expectations import ImageDriver
from sparkiac.plan import HostPlan, Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "contract"), "the contract of the tree: a pin is what its requirement allows")


def check(plan: Plan) -> Iterator[Hit]:
    """Find hosts whose pinned driver is outside a requirement."""
    for host in plan.hosts:
        pinned = host.pins.driver if host.pins else None
        for wanted in _unmet(host, pinned) if pinned else ():
            message = f"{host.name} has driver {pinned} in the lock, and must run {wanted}"
            hint = f"install that driver and run sparkiac lock --hosts --upgrade {host.name}, or change the requirement"
            yield Hit(("hosts", host.name), message, hint, host=host.name)


def _unmet(host: HostPlan, pinned: str) -> Iterator[str]:
    """Yield the requirements of the host and of its images that a driver does not meet."""
    if host.values.driver and not _in_series(pinned, host.values.driver):
        yield host.values.driver
    for image in host.preflight.image_drivers:
        if not _runs(image, pinned):
            yield f"{image.min_driver} or newer for {image.unit}"


def _runs(image: ImageDriver, pinned: str) -> bool:
    older = image.forward_compat is not None and _in_series(pinned, image.forward_compat)
    return older or _numbers(pinned) >= _numbers(image.min_driver)


def _in_series(driver: str, series: str) -> bool:
    return f"{driver}.".startswith(f"{series}.")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
