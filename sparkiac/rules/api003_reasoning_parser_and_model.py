"""Reasoning is parsed where the model does not reason, or not where it does.

A reasoning parser looks for the model's thoughts and moves them out of the answer. Without one a model that thinks
shows its `<think>` block in every reply. Qwen3-Coder-Next does not reason, so it takes none. A general entry knows
nothing of its model, so there nothing is said to be missing.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {reasoning_parser: null}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
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
    code="API003",
    slug="reasoning-parser-and-model",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L159, L198",
        "vLLM blog L44",
    ),
    since="0.1.0",
)
_KEY: Final = ("set", "reasoning_parser")


def check(plan: Plan) -> Iterator[Hit]:
    """Find parsers that are missing or too many."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    facts, parser = container.server.facts, container.server.options.get("reasoning_parser")
    if parser is None and facts is not None and facts.thinks:
        message = f"{container.server.model} thinks before it answers, and {container.name} leaves that in the answer"
        yield hit(host, container, _KEY, message, "set the reasoning_parser of the model's family")
    if parser is not None and "qwen3-coder-next" in model(container):
        message = f"{container.server.model} does not reason, and {container.name} parses it with {parser}"
        yield hit(host, container, _KEY, message, "remove reasoning_parser")
