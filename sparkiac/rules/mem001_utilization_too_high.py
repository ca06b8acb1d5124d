"""The engine reserves so much of the shared memory that the machine can fail under load.

CPU, GPU, page cache and every other process share one pool of memory. If the inventory states what a host keeps for the
system (`memory.reserve_gib`), the memory calculation decides, and MEM103 is an error. Otherwise, the limit is what was
measured with the engine.

vLLM: above 0.90 the SM121 reference saw out-of-memory crashes and Xid 43 (L15-17, L68). A DGX Spark cannot provide 0.92
(https://github.com/vllm-project/recipes/pull/632), which is the default from 0.20.0 on; 0.9 was the default before.
`kv_cache_memory_bytes` replaces the share.

SGLang: `mem_fraction_static` is a share of the memory that is free at the start, for weights and KV cache; activations
and CUDA graphs come on top. At 0.75 a start reached the swap guard, and 0.70 ran; four launches at 0.60 to 0.85 left
the host without memory; the 0.95 of the cookbook had no measurement behind it and was lowered.

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
from typing import Final, NamedTuple

from sparkiac.plan import Plan
from sparkiac.rules.deployments import models, share
from sparkiac.rules.rule import Hit, hit, rule


class _Limit(NamedTuple):
    most: float
    """The highest share without a report of a failure."""
    failed: str
    """The shares with reports, to follow the share in a sentence."""
    sources: tuple[str, ...]


_VLLM: Final = _Limit(
    0.90, "above 0.9", ("SM121 reference L15-17, L68", "https://github.com/vllm-project/recipes/pull/632")
)
_REPORTS: Final = ("issues/34872", "issues/35860", "pull/35121")
_SGLANG: Final = _Limit(
    0.74, "from 0.75 on", tuple(f"https://github.com/sgl-project/sglang/{each}" for each in _REPORTS)
)
_LIMITS: Final = {"gpu_memory_utilization": _VLLM, "mem_fraction_static": _SGLANG}
"""Option for the share → what was measured with its engine."""
RULE: Final = rule(__name__, ("fails", "measured"), *_VLLM.sources, *_SGLANG.sources)


def check(plan: Plan) -> Iterator[Hit]:
    """Find shares above the highest one that is known to work, on hosts whose reserve is not stated."""
    for host, container in models(plan):
        found = share(host, container) if host.reserve_bytes is None else None
        limit = _LIMITS.get(found.option) if found else None
        if found is not None and limit is not None and found.value > limit.most:
            used = f"{container.name} uses {found.value} of the memory{found.default}"
            message = f"{used}; {limit.failed}, machines failed"
            hint = f"set {found.option} to {limit.most} or less, or state memory.reserve_gib of {host.name}"
            yield hit(host, container, ("set", found.option), message, hint)._replace(sources=limit.sources)
