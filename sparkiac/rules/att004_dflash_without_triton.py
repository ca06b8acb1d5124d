"""DFlash runs on another attention backend than Triton.

For Triton: Spark guide saw FLASH_ATTN and FlashInfer crash with DFlash on sm_121 (L768, L779), and vLLM 0.26.0 ended in
`varlen_fwd` of FLASH_ATTN on a DGX Spark (https://github.com/vllm-project/vllm/issues/50707). Choosing the method sets
`attention_backend: triton_attn` for that reason.

Against it: recipes for DGX Spark run DFlash with flash_attn, vLLM supports FlashInfer for DFlash
(https://github.com/vllm-project/vllm/pull/43081), and its own error message recommends FlashAttention. So this is a
note: it says what to try if the server ends in an attention kernel.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: poolside/laguna-xs.2-dflash
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {attention_backend: flash_attn}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: poolside/laguna-xs.2-dflash
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
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
    code="ATT004",
    slug="dflash-without-triton",
    severity=Severity.INFO,
    sources=(
        "Spark guide L164, L182, L759-765, L768, L779-780",
        "https://github.com/vllm-project/vllm/issues/50707",
        "https://github.com/vllm-project/vllm/pull/43081",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find DFlash on another backend."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    method, backend = (container.server.speculative or {}).get("method"), kernels.option(container, "attention_backend")
    if method == "dflash" and backend != "triton_attn":
        said = f"attention_backend: {backend}" if backend else "no attention_backend"
        message = f"{container.name} drafts with DFlash and has {said}; sources disagree on which one runs on sm_121"
        hint = "if the server ends in an attention kernel, try attention_backend: triton_attn"
        yield kernels.hit(host, container, ("set", "attention_backend"), message, hint)
