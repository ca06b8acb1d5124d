"""Qwen3-Coder-Next runs without prefix caching.

A coding agent sends its growing prompt again at every turn. vLLM leaves prefix caching off for hybrid models such as
this one unless `enable_prefix_caching` is set (https://github.com/vllm-project/vllm/pull/46778); then every turn
computes the whole prompt. Spark guide runs the model with it (L191, L197).

Against it: vLLM calls it experimental here, its cache matched few prompts on a DGX Spark in one measurement
(https://github.com/eugr/spark-vllm-docker/pull/47), and together with MTP it spoiled answers of a related model
(https://github.com/vllm-project/vllm/issues/43559).

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
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG009",
    slug="coder-without-prefix-caching",
    severity=Severity.INFO,
    sources=(
        "Spark guide L191, L197-198",
        "https://github.com/vllm-project/vllm/pull/46778",
        "https://github.com/eugr/spark-vllm-docker/pull/47",
        "https://github.com/vllm-project/vllm/issues/43559",
    ),
    since="0.1.0",
)
_KEY: Final = ("set", "enable_prefix_caching")


def check(plan: Plan) -> Iterator[Hit]:
    """Find Qwen3-Coder-Next without the option."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "qwen3-coder-next" in model(container) and container.server.options.get("enable_prefix_caching") is not True:
        message = f"{container.name} computes the whole prompt again at every turn of an agent: no prefix caching"
        yield hit(host, container, _KEY, message, "for agents, try enable_prefix_caching: true")
