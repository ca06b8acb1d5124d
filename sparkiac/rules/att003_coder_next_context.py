"""Qwen3-Coder-Next cannot have this context on the default attention backend.

At a memory utilisation of 0.85 the default FLASH_ATTN ends near 60,000 tokens with this model on one machine, and
flashinfer fits about 170,000 without an FP8 KV cache. On vLLM 0.19 flashinfer is not sound with FP8: there, lower
`max_model_len` instead.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: qwen/qwen3-coder-next-fp8
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {attention_backend: null}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: qwen/qwen3-coder-next-fp8
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.readings import count
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="ATT003",
    slug="coder-next-context",
    severity=Severity.ERROR,
    sources=("Spark guide L198",),
    since="0.1.0",
)
_MOST: Final = 60_000


def check(plan: Plan) -> Iterator[Hit]:
    """Find long contexts of that model on another backend."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    length, backend = count(container, "max_model_len") or 0, kernels.option(container, "attention_backend")
    concerned = fnmatchcase(kernels.model(container), "*/qwen3-coder-next-fp8") and container.server.node is None
    old = (container.image.vllm or "").startswith("0.19")
    if concerned and length > _MOST and backend != "flashinfer":
        message = f"{container.name} asks for {length} tokens; without flashinfer about {_MOST} fit"
        hint = "lower max_model_len" if old else "write `set: {attention_backend: flashinfer}`, or lower max_model_len"
        yield kernels.hit(host, container, ("set", "max_model_len"), message, hint)
