"""The tokenizer comes from a repository of its own that nobody stages.

The dual-Spark post serves RedHatAI's checkpoint of Qwen3.6-35B-A3B with the tokenizer of the original. The container
cannot download: the repository must be in the model store. Named under `needs_models`, it is looked for before the
start.

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
    port: 8000
    set: {tokenizer: Qwen/Qwen3.6-35B-A3B}
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
    port: 8000
    set: {tokenizer: Qwen/Qwen3.6-35B-A3B}
    needs_models: [Qwen/Qwen3.6-35B-A3B]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG024",
    slug="tokenizer-not-staged",
    severity=Severity.INFO,
    sources=("dual-Spark post L45",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find tokenizers that the store need not hold."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tokenizer = str(container.options.get("tokenizer", "/"))
    if not tokenizer.startswith("/") and tokenizer not in container.models:
        message = f"{container.name} reads its tokenizer from {tokenizer}, which is not among its models"
        yield hit(host, container, ("set", "tokenizer"), message, f"needs_models: [{tokenizer}]")
