"""An FP8 model on vLLM 0.19 does not run on the Triton attention backend.

SM121 reference reports wrong results of FlashInfer with FP8 models on vLLM 0.19 (vLLM issue 35138), and sets
`attention_backend: TRITON_ATTN`. Other sources hold for other cases: a hybrid model takes no one backend for all its
layers (Spark guide L156), Qwen3-Coder-Next runs on FlashInfer on a nightly (L191), vLLM takes Triton by itself for
Gemma 4 (dual-Spark post L102), and vLLM blog leaves the choice to vLLM. So this is about FP8 on 0.19 alone, and not
about hybrid models unless they name FlashInfer.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model-FP8
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: fp8}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model-FP8
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: fp8, attention_backend: TRITON_ATTN}
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
    code="ATT001",
    slug="fp8-attention-on-0-19",
    severity=Severity.WARNING,
    sources=("SM121 reference L4-8, L63", "Spark guide L128, L156, L191", "dual-Spark post L102", "vLLM blog L46-48"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find FP8 on vLLM 0.19 that may run on FlashInfer."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    backend, found = kernels.option(container, "attention_backend"), kernels.known(container)
    hybrid = found is not None and (found.architecture.kind or "").startswith("hybrid")
    chosen_well = backend == "triton_attn" or (not backend and (hybrid or "/gemma-4-" in kernels.model(container)))
    if (container.image.vllm or "").startswith("0.19") and kernels.fp8(container) and not chosen_well:
        said = f"attention_backend: {backend}" if backend else "no attention_backend"
        message = f"{container.name} runs FP8 on vLLM 0.19 with {said}; FlashInfer gives wrong results there"
        hint = "write `set: {attention_backend: TRITON_ATTN}`"
        yield kernels.hit(host, container, ("set", "attention_backend"), message, hint)
