"""The deployment has several served names, and the engine supports only one.

vLLM and llama.cpp answer to each of their names. SGLang, TensorRT-LLM and AEON-7's images have one: a client that
requests another name gets an error.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    served_names: [fast, chat]
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    served_names: [chat]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "source"),
    "docs.sglang.io: Server arguments",
    "github.com/NVIDIA/TensorRT-LLM: commands/serve.py",
    "github.com/AEON-7/vllm-dflash: README.md",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments with more served names than their engine supports."""
    for host, container in plan.containers:
        engine, served = engines.named(container.server.engine), container.server.served
        if engine.one_name and len(served) > 1:
            message = f"{engine.title} supports one served name, but {container.name} has {len(served)}"
            yield hit(host, container, ("served_names",), message, f"keep one name: served_names: [{served[0]}]")
