"""The KV cache is sized for many users, and few requests run at once.

The engine takes its whole share at the start, whoever asks: at 0.85 the Spark guide's model holds 74 requests of 64K,
which one user never fills (L348-357). Fewer sequences do not shrink the pool (L358-359): they leave more of it to
each request, which is what the guide means where it lowers max_num_seqs for long context (L303). The memory comes back
by a lower share. 0.85 to 0.87 is an upper bound and no target.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {max_num_seqs: 2}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {max_num_seqs: 2, gpu_memory_utilization: 0.4}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.numbers import gib
from sparkiac.report import Severity
from sparkiac.rules.kernels import hit, known
from sparkiac.rules.readings import count
from sparkiac.rules.rule import Rule
from sparkiac.rules.shares import models, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MEM006",
    slug="pool-for-many",
    severity=Severity.INFO,
    sources=("Spark guide L157, L303-304, L352-369",),
    since="0.1.0",
)
_FEW: Final = 2
_MOST: Final = 0.85


def check(plan: Plan) -> Iterator[Hit]:
    """Find large shares for few requests and small weights."""
    for host, container in models(plan):
        facts, found = known(container), share(host, container)
        weights, taken = (facts.weights_bytes if facts else None) or 0, container.memory_bytes or 0
        few = (count(container, "max_num_seqs") or _FEW + 1) <= _FEW
        small = 0 < weights * 2 <= taken and container.server.node is None
        if found is not None and few and small and found.value >= _MOST:
            free = gib(taken - weights)
            number = container.server.options["max_num_seqs"]
            message = f"{container.name} keeps {free} beside its weights for {number} requests at once"
            hint = f"{found.option}: 0.4 is enough for one user; fewer sequences alone free nothing"
            yield hit(host, container, ("set", found.option), message, hint)
