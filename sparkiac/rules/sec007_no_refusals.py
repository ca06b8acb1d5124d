"""The model was changed so that it refuses nothing.

Its answers are bounded by no training for safety: put your own limits before it. Of one such coder the Spark guide says
that it may write code for time series and back tests that looks ahead of its data, while its reasoning names the right
rule: read what it writes before it runs (L275-276).

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
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
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import model
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

RULE: Final = Rule(
    code="SEC007",
    slug="no-refusals",
    severity=Severity.WARNING,
    sources=("Spark guide L275-276, L720, L744",),
    since="0.1.0",
)
_WORDS: Final = ("uncensored", "heretic", "gemma-4-12b-coder-fable5")


def check(plan: Plan) -> Iterator[Hit]:
    """Find models that are called so, or that a source calls so."""
    for host in plan.hosts:
        for container in host.containers:
            if any(word in model(container) for word in _WORDS):
                message = f"{container.name} serves {container.server.model}, which was trained to refuse nothing"
                hint = "put limits of your own before it, and allow this where the model is meant"
                yield Hit((*container.path, "model"), message, hint, host=host.name)
