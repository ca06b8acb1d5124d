"""Qwen3-Coder-Next runs without prefix caching.

A coding agent sends its growing prompt again at every turn. With the flags that the model's card prints, prefix
caching is off for this architecture: nothing is ever found again, and every turn computes the whole prompt. vLLM
calls it experimental here; Spark guide says that it works.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3-Coder-Next-FP8
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3-Coder-Next-FP8
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {enable_prefix_caching: true}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model, written
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG009",
    slug="coder-without-prefix-caching",
    severity=Severity.ERROR,
    sources=("Spark guide L191, L197-198",),
    since="0.1.0",
)
_KEY: Final = ("set", "enable_prefix_caching")


def check(plan: Plan) -> Iterator[Hit]:
    """Find Qwen3-Coder-Next without the option."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "qwen3-coder-next" in model(container) and container.server.options.get("enable_prefix_caching") is not True:
        message = f"{container.name} would compute the whole prompt anew at every turn of an agent"
        fix = written(container, *_KEY, value=True)
        yield hit(host, container, _KEY, message, "set enable_prefix_caching: true", fix=fix)
