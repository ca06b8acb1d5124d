"""The model can think, and does not unless a request asks for it.

Qwen3.6 and Nemotron-3-Nano think by default. Gemma 4 and its coding variant do not, and answer worse without where a
step of thought is needed: each request sends `chat_template_kwargs: {enable_thinking: true}`, or the server has it as
default. DeepSeek-V4 calls it `thinking`. The `/no_think` of SM121 reference belongs to the first Qwen3 templates.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/gemma-4-31b-it-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {reasoning_parser: gemma4}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/gemma-4-31b-it-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {reasoning_parser: gemma4, default_chat_template_kwargs: {enable_thinking: true}}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, known, model
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="API006",
    slug="thinking-not-asked-for",
    severity=Severity.INFO,
    sources=(
        "Spark guide L175, L255-256, L274, L304, L424",
        "DeepSeek-V4 thread L303",
        "SM121 reference L35",
    ),
    since="0.1.0",
)
_KEY: Final = ("set", "default_chat_template_kwargs")


def check(plan: Plan) -> Iterator[Hit]:
    """Find models that stay silent, and the wrong word."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    facts, kwargs = known(container), container.server.options.get("default_chat_template_kwargs") or {}
    silent = facts is not None and facts.thinks is False and "reasoning_parser" in container.server.options
    if silent and not kwargs:
        message = f"{container.server.model} thinks only when a request asks, so the reasoning parser finds nothing"
        hint = "set default_chat_template_kwargs: {enable_thinking: true}, or let requests ask"
        yield hit(host, container, _KEY, message, hint)
    if "deepseek-v4" in model(container) and "enable_thinking" in kwargs:
        yield hit(
            host, container, _KEY, f"{container.server.model} does not know enable_thinking", "write thinking: true"
        )
