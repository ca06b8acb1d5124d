"""The engine reserves so much of the shared memory that the machine can fail under load.

CPU, GPU, page cache and every other process share one pool of memory. Above 0.90 the SM121 reference saw out-of-memory
crashes and Xid 43 (L15-17, L68); 0.85 to 0.87 is its safe range, and 0.82 on two machines with 131072 tokens of
context. NVIDIA's recipe for Nemotron-3-Super sets 0.85, because a DGX Spark cannot provide 0.92
(https://github.com/vllm-project/recipes/pull/632). The Spark guide still runs 0.92, for 9 GB of weights and 16384
tokens (L268), so up to that value it is a warning.

If `gpu_memory_utilization` is not set, vLLM uses its default: 0.9, and 0.92 from 0.20.0 on. Lower values are fine as
long as weights and KV cache fit: the dual-Spark post runs 0.80 to keep headroom (L18).

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.93}
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
    set: {gpu_memory_utilization: 0.85}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.report import Severity
from sparkiac.rules.deployments import Share, count, models, share
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    Severity.ERROR,
    "SM121 reference L15-17, L68",
    "Spark guide L26-27, L157, L268, L329",
    "dual-Spark post L18",
    "https://github.com/vllm-project/recipes/pull/632",
)
_HARD: Final = 0.92
"""vLLM's default, and the highest value that a source runs."""
_SAFE: Final = 0.87
_LONG_GROUP: Final = 0.82
_LONG: Final = 131_072
"""Context length from which two machines need more headroom."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find shares above the safe value."""
    for host, container in models(plan):
        found = share(host, container)
        if found is not None:
            yield from _hits(host, container, found)


def _hits(host: HostPlan, container: Container, found: Share) -> Iterator[Hit]:
    long = container.server.node is not None and (count(container, "max_model_len") or 0) >= _LONG
    most = _LONG_GROUP if long else _SAFE
    if found.value > most:
        severity = Severity.ERROR if found.value > _HARD else Severity.WARNING
        where = f" for {_LONG} tokens or more on several machines" if long else ""
        message = f"{container.name} uses {found.value} of the memory{found.default}; up to {most} is safe{where}"
        yield hit(host, container, ("set", found.option), message, f"set {found.option} to {most} or less", severity)
