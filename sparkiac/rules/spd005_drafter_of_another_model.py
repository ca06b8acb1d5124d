"""The drafter was trained for another model.

A drafter predicts the tokens of the model that it was trained with. With another model few predictions are right, and
each step costs more than it saves; if the vocabularies differ, vLLM refuses the pair
(https://github.com/vllm-project/vllm/pull/42775). The catalog's table of drafters names the model of each. Models are
compared by name, so this is a warning: a copy in another format (NVFP4, FP8, AWQ) contains the name of the original
model, with or without -it or -Instruct.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    speculative: {method: dflash, model: z-lab/Qwen3.5-27B-DFlash}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.5-27B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    speculative: {method: dflash, model: z-lab/Qwen3.5-27B-DFlash}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sparkiac import catalog
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "measured"),
    "Spark guide L746-756, L768, L781",
    "https://github.com/vllm-project/vllm/pull/42775",
)
_TUNED: Final = re.compile(r"-(it|instruct)$")
"""Endings that a copy's name can omit: it still counts as the same model."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find drafters whose known target is not the model that is served."""
    for host, container in plan.containers:
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    drafter = (container.server.speculative or {}).get("model")
    pairs = catalog.drafters() if drafter is not None else ()
    targets = sorted(pair.target for pair in pairs if pair.drafter == drafter)
    if targets and not any(_same(target, container.server.model or "") for target in targets):
        message = f"{drafter} was trained for {' and '.join(targets)}, not for {container.server.model}"
        hint = "use this model's own drafter, or method: ngram, which needs none"
        yield hit(host, container, ("speculative",), message, hint)


def _same(target: str, model: str) -> bool:
    """Return whether a model is the target, or a copy in another format whose name contains the target's."""
    return _TUNED.sub("", target.rpartition("/")[2].lower()) in model.lower()
