"""The unit times out before the weights can be loaded.

The sources wait 10 to 15 minutes for the first load (Spark guide L62, vLLM blog L76), and 14 on a wiped cache
(DeepSeek-V4 thread L404). The dual-Spark post's TimeoutStartSec of 900 s (L27) does not include the load, because its
units are ready at once; here a unit is ready when the model answers, so the timeout must cover the load. The default is
1200 s. A unit that times out is restarted and never becomes ready.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    timeouts: {ready_s: 300}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import models
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "measured"),
    "dual-Spark post L23-28",
    "vLLM blog L76",
    "Spark guide L62, L377",
    "DeepSeek-V4 thread L404",
)
_LONGEST: Final = 900
"""Longest load in seconds that the sources report."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments whose start timeout is shorter than the longest load that a source reports."""
    for host, container in models(plan):
        if container.timeouts.ready_s < _LONGEST:
            message = (
                f"{container.name} times out after {container.timeouts.ready_s} s; "
                f"loading took up to {_LONGEST} s in the sources"
            )
            hint = "set timeouts.ready_s to 1200"
            yield hit(host, container, ("timeouts", "ready_s"), message, hint)
