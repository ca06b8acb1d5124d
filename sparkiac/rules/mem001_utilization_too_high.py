"""The engine takes so much of the shared memory that the machine can fail under load.

CPU, GPU, page cache and every other process draw from one pool. Above 0.90 the SM121 reference saw out-of-memory
crashes and Xid 43 (L15-17, L68); 0.85 to 0.87 is its safe range, and 0.82 on two machines with 131072 tokens of
context. The Spark guide prints one recipe with 0.92, for 9 GB of weights and 16384 tokens (L268): allow it where it is
meant. Lower values are fine as long as weights and KV cache fit: the dual-Spark post runs 0.80 to keep headroom (L18).

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.93}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.85}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import hit
from sparkiac.rules.readings import count
from sparkiac.rules.rule import Rule
from sparkiac.rules.shares import models, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MEM001",
    slug="utilization-too-high",
    severity=Severity.ERROR,
    sources=(
        "SM121 reference L15-17, L68",
        "Spark guide L26-27, L157, L268, L329",
        "dual-Spark post L18",
    ),
    since="0.1.0",
)
_HARD: Final = 0.90
_SAFE: Final = 0.87
_LONG_GROUP: Final = 0.82
_LONG: Final = 131_072
"""Tokens of context from which two machines need more room."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find shares above the ceiling, and above what is safe."""
    for host, container in models(plan):
        found = share(container)
        if found is not None:
            yield from _hits(host, container, *found)


def _hits(host: HostPlan, container: Container, option: str, value: float) -> Iterator[Hit]:
    long = container.server.node is not None and (count(container, "max_model_len") or 0) >= _LONG
    most = _LONG_GROUP if long else _SAFE
    if value > most:
        severity = Severity.ERROR if value > _HARD else Severity.WARNING
        where = f" over {_LONG} tokens and more on several machines" if long else ""
        message = f"{container.name} takes {value} of the memory; {most} is the most that is safe{where}"
        hint = f"set {option} to {most} or less"
        yield hit(host, container, ("set", option), message, hint, severity)
