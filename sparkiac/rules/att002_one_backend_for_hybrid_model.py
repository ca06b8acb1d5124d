"""One attention backend is forced on the layers of a model of which they are not alike.

Qwen3.6-35B-A3B mixes full with linear attention, and vLLM 0.23 chooses a backend for each kind. Forcing flashinfer on
all of them crashed at init_device of a nightly of that series (Spark guide L156). NVIDIA's card lists it all the same,
and newer builds may take it (L157): so it is a warning on 0.23 alone. triton_attn belongs to DFlash on this model
(L164). Qwen3-Coder-Next is hybrid too and runs on flashinfer (L191).

Gemma 4 has heads of two sizes, which flashinfer does not serve: vLLM takes Triton by itself (dual-Spark post L102).

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-31B-it
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: base/single-spark
    model: google/gemma-4-31B-it
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    severity=Severity.WARNING,
    sources=("Spark guide L156-157, L164, L191", "dual-Spark post L102"),
    since="0.1.0",
)
_KEY: Final = ("set", "attention_backend")


def check(plan: Plan) -> Iterator[Hit]:
    """Find one backend for all layers of these models, of the first on vLLM 0.23."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    backend, method = kernels.option(container, "attention_backend"), (container.server.speculative or {}).get("method")
    mixed = fnmatchcase(kernels.model(container), "*/qwen3.6-35b-a3b*")
    mixed = mixed and (container.image.vllm or "").startswith("0.23") and method != "dflash"
    headed = backend == "flashinfer" and fnmatchcase(kernels.model(container), "*/gemma-4-*")
    if not backend or not (mixed or headed):
        return
    message = f"{container.name} forces attention_backend: {backend} on all layers of {container.server.model}"
    hint = "remove attention_backend: vLLM chooses one for each kind of layer"
    yield kernels.hit(host, container, _KEY, message, hint)
