"""An environment variable is set that the vLLM in the image does not read.

vLLM 0.24.0 turned the variables that choose FlashInfer's MoE kernels into the option `moe_backend`: 0.23.0 still reads
them, 0.24.0 does not, and logs "Unknown vLLM environment variable detected". No release reads VLLM_FP8_MOE_BACKEND. On
NGC 26.04 SM121 reference needs VLLM_USE_FLASHINFER_MOE_FP4=0, and there it works. A variable that a patch reads is
named under `extra_flags:`.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/moe
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    env: {VLLM_FP8_MOE_BACKEND: marlin}
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
from sparkiac.rules import release
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
    sources=(*release.SOURCES, "Spark guide L115-117, L156", "SM121 reference L11"),
    since="0.1.0",
)
GONE: Final = {
    "VLLM_USE_FLASHINFER_MOE_FP4": "0.24.0",
    "VLLM_USE_FLASHINFER_MOE_FP8": "0.24.0",
    "VLLM_FLASHINFER_MOE_BACKEND": "0.24.0",
    "VLLM_FP8_MOE_BACKEND": None,
}
"""Variable → the release that stopped reading it; None where none ever did."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find variables that have no effect."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    known = release.known(container)
    for name, gone in GONE.items():
        if (
            name in container.command.env
            and name not in container.server.extra.variables
            and (gone is None or since(container, gone))
        ):
            reason = f"vLLM from {gone} on does not read" if gone else "no release of vLLM reads"
            message = f"{container.name} sets {name}, which {reason}"
            fix = written(container, "env", name, value=REMOVE) if known is not None and known.exact else ()
            hint = "remove it, and choose the kernels by `moe_backend`"
            yield hit(host, container, ("env", name), message, hint, fix=fix)
