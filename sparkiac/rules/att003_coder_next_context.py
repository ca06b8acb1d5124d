"""Qwen3-Coder-Next has a long context on another attention backend than FlashInfer.

Spark guide measured, on cu130-nightly with a memory utilisation of 0.85, that about 60,000 tokens fit on one machine
with the default FLASH_ATTN, and about 170,000 with flashinfer and no FP8 KV cache (L198). What fits on another build
depends on that build: MEM101 says what the arithmetic gives, and the server's log has the last word. On vLLM 0.19
flashinfer gave wrong results with FP8 weights (QNT004): there, lower `max_model_len` instead.

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
    severity=Severity.INFO,
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
        message = f"{container.name} asks for {length} tokens; Spark guide fitted about {_MOST} without flashinfer"
        other = "" if old else ", or try attention_backend: flashinfer"
        hint = f"read the size of the KV cache in the server's log; if it is too small, lower max_model_len{other}"
        yield kernels.hit(host, container, ("set", "max_model_len"), message, hint)
