"""FP4 experts on vLLM 0.19.0 may take the broken CUTLASS path.

On NGC 26.04, SM121 reference sets VLLM_USE_FLASHINFER_MOE_FP4=0: without it experts can go through the CUTLASS path
that gives wrong output. The dual-Spark post runs RedHatAI's Qwen3.6-35B-A3B on that image without it; that pair stays
as it was run. From vLLM 0.24.0 on the variable does nothing.

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
    env: {VLLM_USE_FLASHINFER_MOE_FP4: 0}
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
    code="MOE003",
    slug="fp4-experts-through-flashinfer",
    severity=Severity.WARNING,
    sources=("SM121 reference L10-12, L65", "Spark guide L117", "dual-Spark post L40-58"),
    since="0.1.0",
)
_VARIABLE: Final = "VLLM_USE_FLASHINFER_MOE_FP4"
_RAN: Final = "redhatai/qwen3.6-35b-a3b-nvfp4"
"""Model that the dual-Spark post ran on this image without the variable."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find FP4 experts on vLLM 0.19.0 without the variable."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if container.image.vllm != "0.19.0" or not kernels.fp4_moe(container) or kernels.model(container) == _RAN:
        return
    if container.command.env.get(_VARIABLE) != "0":
        message = (
            f"{container.server.model} has FP4 experts, and {container.name} does not set {_VARIABLE}=0 on vLLM 0.19.0"
        )
        yield kernels.hit(host, container, ("env", _VARIABLE), message, f"try `env: {{{_VARIABLE}: 0}}`")
