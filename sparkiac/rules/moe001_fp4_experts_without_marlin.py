"""A mixture of experts in NVFP4 does not name the Marlin backend.

This GPU has no native FP4. Left alone, vLLM may take a CUTLASS path for FP4 experts which gives wrong output without
an error, `!!!!!`, or `[FP4 gemm Runner] Failed`; Marlin computes in 16 bit and works (Spark guide L117-120, SM121
reference L6-9).

vLLM blog says to leave the backend on auto, as newer FlashInfer paths are stronger (L48). What a source ran without
Marlin stays as it is, as the pair of model and image that it ran: Nemotron-3-Super on cu130-nightly, Nemotron-3-Nano
on 25.12.post1, Nano-Omni on v0.20.0, RedHatAI's Qwen3.6-35B on 26.04, and its Qwen3.5-122B with flashinfer_cutlass. On
another model flashinfer_cutlass is a trial, and a warning; so is a model of which only the name says that it has FP4
experts, as A3B and NVFP4 in one. Look into the server's log for the backend it took. `moe_backend` came with vLLM 0.17.

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
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    severity=Severity.ERROR,
    sources=(
        "Spark guide L117-120, L156-157, L212, L251-252",
        "SM121 reference L6-9, L64",
        "vLLM blog L46-48",
        "dual-Spark post L40-58",
    ),
    since="0.1.0",
)
_SAID_ELSEWHERE: Final = {"marlin", "flashinfer_trtllm"}
"""Marlin is right; the other, which this GPU does not have, is found by a rule of its own."""
_BY_NAME: Final = re.compile(r"-a[0-9.]+b-")
"""What a handle says of a mixture of experts in NVFP4: the parameters that are active, and the format."""
_RAN: Final = {
    ("nvidia/nvidia-nemotron-3-super-120b-a12b-nvfp4", ""): "vllm/vllm-openai:cu130-nightly",
    ("nvidia/nvidia-nemotron-3-nano-30b-a3b-nvfp4", ""): "nvcr.io/nvidia/vllm:25.12.post1-py3",
    ("nvidia/nemotron-3-nano-omni-30b-a3b-reasoning-nvfp4", ""): "vllm/vllm-openai:v0.20.0",
    ("redhatai/qwen3.6-35b-a3b-nvfp4", ""): "nvcr.io/nvidia/vllm:26.04-py3",
    ("redhatai/qwen3.5-122b-a10b-nvfp4", "flashinfer_cutlass"): "vllm/vllm-openai:cu130-nightly",
}
"""Model and backend → image that a source ran them on."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find FP4 experts on another backend than Marlin."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    backend, sure = kernels.option(container, "moe_backend"), kernels.fp4_moe(container)
    named = _BY_NAME.search(kernels.model(container))
    likely = kernels.known(container) is None and named is not None and "nvfp4" in named.string[named.end() :]
    if not (sure or likely) or backend in _SAID_ELSEWHERE or kernels.falls_back(container) or _ran(container, backend):
        return
    said = f"moe_backend: {backend}" if backend else "no moe_backend"
    message = f"{container.model} {'has' if sure else 'seems to have'} FP4 experts, and {container.name} sets {said}"
    severity = Severity.WARNING if likely or backend == "flashinfer_cutlass" else None
    hint, key = "write `set: {moe_backend: marlin}`", ("set", "moe_backend")
    fix = kernels.written(container, *key, value="marlin") if severity is None else ()
    if before(container, "0.17.0"):
        hint, fix = f"take an image with vLLM 0.17 or newer, and {hint}", ()
    yield kernels.hit(host, container, key, message, hint, severity, fix=fix)


def _ran(container: Container, backend: str) -> bool:
    """Whether a source ran it so."""
    return kernels.may_be(container, _RAN.get((kernels.model(container), backend), ""))
