"""`max_num_batched_tokens` has a value that no source ran on this machine.

Sources run 8192 (Qwen3.6, Qwen3.5-122B, Gemma 4, DeepSeek-V4 over Ray), 16384 (DeepSeek-V4) and 32768 (Coder-Next,
Nemotron Omni, AEON-7's image). A larger batch takes more memory while prompts are read: the dual-Spark post keeps
8192 so that a spike does not end the server.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_num_batched_tokens: 65536}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_num_batched_tokens: 8192}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.readings import count, tested
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG028",
    slug="batch-of-no-recipe",
    severity=Severity.INFO,
    sources=(
        "Spark guide L151, L195, L211, L316, L733",
        "dual-Spark post L18, L56, L97",
        "DeepSeek-V4 thread L263, L380",
    ),
    since="0.1.0",
)
_RUN: Final = (8192, 16384, 32768)


def check(plan: Plan) -> Iterator[Hit]:
    """Find values that are neither the recipe's nor another source's."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tokens = count(container, "max_num_batched_tokens")
    if tokens not in {None, tested(container, "max_num_batched_tokens"), *_RUN}:
        message = f"{container.name} batches {tokens} tokens, which no source ran"
        hint = f"take one of {', '.join(str(run) for run in _RUN)}, or measure it"
        yield hit(host, container, ("set", "max_num_batched_tokens"), message, hint)
