"""FP8 weights run on the FlashInfer attention backend, whose answers want a look.

FP8 itself is sound on sm_121: Spark guide calls it the path for Qwen3-Coder-Next (L184), and gives that model
FlashInfer for its long context (L198). SM121 reference reports wrong results of FlashInfer with FP8 models on vLLM
0.19 (vLLM issue 35138). Both hold for their own image: compare some answers with those of another backend before
others rely on them.

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
    set: {attention_backend: null}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="QNT004",
    slug="fp8-on-flashinfer",
    severity=Severity.INFO,
    sources=("Spark guide L184, L191, L198", "SM121 reference L4-8"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find FP8 weights on FlashInfer."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if kernels.fp8(container) and kernels.option(container, "attention_backend") == "flashinfer":
        message = f"{container.name} runs FP8 weights on FlashInfer, which gave wrong results on vLLM 0.19"
        hint = "compare some answers with those of triton_attn"
        yield kernels.hit(host, container, ("set", "attention_backend"), message, hint)
