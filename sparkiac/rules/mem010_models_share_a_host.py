"""Two models share the memory of one machine.

Each allocates its share at start, and they slow each other down: the dual-Spark post removed its second model from both
machines again (L111-113). The Spark guide lowers a model's share to make room for other services (L304), and an idle
Ollama beside the model is fine (dual-Spark post L108): those are services here. If the known shares add up to more than
0.90, the machine runs out of memory: that is an error. TensorRT-LLM's share is of the memory that is free at its start,
so it counts as unknown. Models of different `turns` never run together.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.4}
  small:
    recipe: base/single-spark
    model: example/small
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8002
    set: {gpu_memory_utilization: 0.2}
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

from sparkiac.plan import Plan
from sparkiac.rules.deployments import in_turn, share, views
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(
    __name__, ("fails", "measured"), "dual-Spark post L3, L108, L111-113", "Spark guide L304", "SM121 reference L17"
)
_MOST: Final = 0.90


def check(plan: Plan) -> Iterator[Hit]:
    """Find hosts with more than one model on the GPU."""
    for host in views(plan):
        found = [each for each in host.containers if each.kind == "deployment"]
        if len(found) > 1:
            shares = {each.name: share(host, each) for each in found}
            known = [part.value for part in shares.values() if part is not None]
            unknown = " and ".join(name for name, part in shares.items() if part is None)
            used = f"together use {sum(known):.2f} of its memory" if known else "use unknown shares of its memory"
            rest = f", plus the unknown share of {unknown}" if known and unknown else ""
            message = f"{host.name} runs {' and '.join(shares)}{in_turn(host)}, which {used}{rest}"
            hint = f"move one to another host, let them take `turns`, or keep the sum of shares at {_MOST:.2f} or less"
            yield Hit(("hosts", host.name), message, hint, host=host.name)
