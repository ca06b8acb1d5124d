"""The weights do not fit into the engine's share of the memory.

The share contains the weights, about 3 GiB of overhead, and the KV cache in what is left: at 0.85 of 119 GiB the Spark
guide's log has 21.94 GiB of weights and 76.49 GiB of KV cache (L345-347). If the weights alone are larger, the server
exits after it has loaded them. One machine serves up to about 100 GB of weights (L657); the size in bytes counts, not
the number of parameters. Sizes come from the lock, or else from the catalog; a model that is in neither is not checked
here (see MEM100).

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.2}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.4}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.overhead import RUNTIME_BYTES
from sparkiac.memory.values import least_bytes
from sparkiac.plan import Plan
from sparkiac.plan.numbers import gib
from sparkiac.plan.parts import Proof
from sparkiac.rules.deployments import models, share
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "arithmetic"), "Spark guide L343-359, L369, L645, L657", "vLLM blog L11, L94")


def check(plan: Plan) -> Iterator[Hit]:
    """Find shares that are smaller than the weights of one machine."""
    for host, container in models(plan):
        found, loaded = share(host, container), _loaded(host.proofs[container.name])
        if found is None or loaded is None or container.memory_bytes is None:
            continue
        if loaded + RUNTIME_BYTES > container.memory_bytes:
            message = (
                f"{container.name} needs {gib(loaded + RUNTIME_BYTES)} for weights and overhead, but its share of "
                f"{host.name} is {gib(container.memory_bytes)}"
            )
            hint = f"raise {found.option}, or use a smaller model or more hosts"
            yield hit(host, container, ("set", found.option), message, hint)


def _loaded(proof: Proof) -> int | None:
    """Return the bytes of weights and drafter on one machine; None if both are unknown."""
    return least_bytes(term for term in proof.server.inside if term.name in {"weights", "drafter"}) or None
