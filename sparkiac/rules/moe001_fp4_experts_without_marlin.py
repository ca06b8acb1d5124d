"""A mixture of experts in NVFP4 runs on vLLM before 0.20 and does not name the Marlin backend.

On vLLM 0.19.0 (NGC 26.04) SM121 reference got wrong output without an error from the CUTLASS path for FP4 experts
(L6-9), Spark guide saw `!!!!!` and `[FP4 gemm Runner] Failed` (L117-120), and 0.12.0 ended the same way
(https://github.com/vllm-project/vllm/issues/30163). Marlin computes in 16 bit and works there. What a source ran on
such a release without Marlin stays as it is, as the pair of model and image that it ran.

Nothing is said of newer and of unknown releases: from mid-2026 on vLLM chooses FlashInfer's CUTLASS kernels on this GPU
by itself, and they are faster than Marlin (https://github.com/vllm-project/recipes/pull/632). Look into the server's
log for the backend it took. Where only the name says that a model has FP4 experts, as A3B and NVFP4 in one, the message
says so. `moe_backend` came with vLLM 0.17.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {moe_backend: null}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.readings import before
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="MOE001",
    slug="fp4-experts-without-marlin",
    severity=Severity.WARNING,
    sources=(
        "SM121 reference L6-9, L64",
        "Spark guide L117-120, L156-157",
        "https://github.com/vllm-project/vllm/issues/30163",
        "https://github.com/vllm-project/recipes/pull/632",
    ),
    since="0.1.0",
)
_SAID_ELSEWHERE: Final = {"marlin", "flashinfer_trtllm"}
"""Marlin is right; the other, which this GPU does not have, is found by a rule of its own."""
_BY_NAME: Final = re.compile(r"-a[0-9.]+b-")
"""What a handle says of a mixture of experts in NVFP4: the parameters that are active, and the format."""
_RAN: Final = {
    ("nvidia/nvidia-nemotron-3-nano-30b-a3b-nvfp4", ""): "nvcr.io/nvidia/vllm:25.12.post1-py3",
    ("redhatai/qwen3.6-35b-a3b-nvfp4", ""): "nvcr.io/nvidia/vllm:26.04-py3",
}
"""Model and backend → image that a source ran them on."""
_AFTER: Final = "0.20.0"
"""The first release of which nothing bad was measured."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find FP4 experts on an old release and another backend than Marlin."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    backend, sure = kernels.option(container, "moe_backend"), kernels.fp4_moe(container)
    named = _BY_NAME.search(kernels.model(container))
    likely = kernels.known(container) is None and named is not None and "nvfp4" in named.string[named.end() :]
    concerned = (sure or likely) and before(container, _AFTER)
    if not concerned or backend in _SAID_ELSEWHERE or kernels.falls_back(container) or _ran(container, backend):
        return
    has, said = "has" if sure else "seems to have", f"moe_backend: {backend}" if backend else "no moe_backend"
    message = (
        f"{container.server.model} {has} FP4 experts, and {container.name} sets {said} on vLLM {container.image.vllm}"
    )
    newer = f"take an image with vLLM {_AFTER} or newer"
    hint = newer if before(container, "0.17.0") else f"try `set: {{moe_backend: marlin}}`, or {newer}"
    yield kernels.hit(host, container, ("set", "moe_backend"), message, hint)


def _ran(container: Container, backend: str) -> bool:
    """Whether a source ran it so."""
    return kernels.may_be(container, _RAN.get((kernels.model(container), backend), ""))
