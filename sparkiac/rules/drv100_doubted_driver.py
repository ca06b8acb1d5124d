"""The inventory names a driver series on which sources disagree.

SM121 reference saw CUDA graphs hang on GB10 with 590 and stays on 580.142 (L20-23); the dual-Spark post serves on 590
in production (L3). Test such a driver under load first. The preflight reports the driver that a host runs (DRV001).

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
    hosts: spark-01
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
    hosts: spark-01
    port: 8000
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("advice", "measured"), "SM121 reference L20-23, L69", "dual-Spark post L3")


def check(plan: Plan) -> Iterator[Hit]:
    """Find hosts whose inventory names such a driver."""
    for host in plan.hosts:
        for doubt in host.preflight.doubted_drivers:
            if f"{host.values.driver}.".startswith(f"{doubt.series}."):
                message = f"driver {host.values.driver} of {host.name}: {doubt.why}"
                hint = "use driver 580.142, or allow DRV100 once this driver has run under load"
                yield Hit(("hosts", host.name, "driver"), message, hint, host=host.name)
