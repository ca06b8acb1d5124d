"""The inventory names a driver series that sources disagree on.

590: SM121 reference saw CUDA graphs hang on GB10 and says to stay on 580.142 (L20-23); the dual-Spark post runs 590 in
production (L3). 595: the DeepSeek-V4 thread runs 595.71.05 with its own build, for that model alone (L346). Try such a
driver under load before it serves. The preflight says the same of the driver that a host really runs (DRV001).

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11, driver: "590.44"}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11, driver: "580.142"}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
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
    code="DRV100",
    slug="doubted-driver",
    severity=Severity.WARNING,
    sources=("SM121 reference L20-23, L69", "dual-Spark post L3", "DeepSeek-V4 thread L346"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find hosts whose inventory names such a driver."""
    for host in plan.hosts:
        for doubt in host.preflight.doubted_drivers:
            if f"{host.driver}.".startswith(f"{doubt.series}."):
                message = f"driver {host.driver} of {host.name}: {doubt.why}"
                hint = "name driver 580.142, or allow DRV100 once this driver has run under load"
                yield Hit(("hosts", host.name, "driver"), message, hint, host=host.name)
