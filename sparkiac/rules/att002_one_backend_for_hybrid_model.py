"""One attention backend is forced on all layers of Qwen3.6-35B-A3B.

The model mixes full attention with linear attention, and vLLM 0.23 chooses a backend for each kind. Forcing flashinfer
on all of them crashed at init_device (Spark guide L156). NVIDIA's card lists it all the same, and a newer build may
take it (L157): waive this where it was tried. triton_attn belongs to DFlash on this model (L164), and is a warning
without it; so is any other. Qwen3-Coder-Next is hybrid too and runs on flashinfer (L191).

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
    set: {attention_backend: flashinfer}
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

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="ATT002",
    slug="one-backend-for-hybrid-model",
    severity=Severity.ERROR,
    sources=("Spark guide L156-157, L164, L191",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find one backend for all layers of that model on vLLM 0.23."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    backend, method = kernels.option(container, "attention_backend"), (container.speculative or {}).get("method")
    concerned = fnmatchcase(kernels.model(container), "*/qwen3.6-35b-a3b*")
    if not backend or not concerned or not (container.image.vllm or "").startswith("0.23") or method == "dflash":
        return
    message = f"{container.name} forces attention_backend: {backend} on all layers of {container.model}"
    severity = None if backend == "flashinfer" else Severity.WARNING
    hint = "remove attention_backend: vLLM chooses one for each kind of layer"
    yield kernels.hit(host, container, ("set", "attention_backend"), message, hint, severity)
