"""An environment variable is set that the vLLM in the image does not read.

vLLM 0.23 turned the variables that choose FlashInfer's MoE kernels into the option `moe_backend`: from then on, says
Spark guide, the server logs "Unknown vLLM environment variable detected" and goes its own way. (The released 0.23.0
still declares them, 0.24.0 does not; the guide's floor is kept.) On NGC 26.04 SM121 reference needs
VLLM_USE_FLASHINFER_MOE_FP4=0, and there it works. VLLM_FP8_MOE_BACKEND was never a variable of vLLM.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/moe
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    env: {VLLM_USE_FLASHINFER_MOE_FP4: 0}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/moe
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    env: {VLLM_USE_FLASHINFER_MOE_FP4: 0}
    set: {moe_backend: marlin}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Severity
from sparkiac.rules.kernels import deployments, hit, written
from sparkiac.rules.readings import since
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG002",
    slug="variable-does-nothing",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L115-117, L156, L288-289, L303",
        "vLLM blog L48",
        "dual-Spark post L40",
        "SM121 reference L11",
    ),
    since="0.1.0",
)
_GONE: Final = {
    "VLLM_USE_FLASHINFER_MOE_FP4": "0.23.0",
    "VLLM_USE_FLASHINFER_MOE_FP8": "0.23.0",
    "VLLM_FLASHINFER_MOE_BACKEND": "0.23.0",
    "VLLM_FP8_MOE_BACKEND": None,
}
"""Variable → the release that stopped reading it; None where none ever did."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find variables that have no effect."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    for name, gone in _GONE.items():
        if name in container.command.env and (gone is None or since(container, gone)):
            reason = f"vLLM from {gone} on does not read" if gone else "no vLLM has ever read"
            message = f"{container.name} sets {name}, which {reason}"
            fix = written(container, "env", name, value=REMOVE)
            hint = "remove it, and choose the kernels by `moe_backend`"
            yield hit(host, container, ("env", name), message, hint, fix=fix)
