"""A kernel backend is pinned that neither the recipe nor a known fault of this GPU asks for.

vLLM chooses by release, model and GPU, and its choice gets better; a pin grows old. Sources pin where they saw
something break: `moe_backend: marlin` for FP4 experts and `attention_backend: triton_attn` on sm_121. For anything
else leave the option away, or note in the deployment why it is there.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {linear_backend: flashinfer_cutlass}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, falls_back, fp4_moe, fp8, hit, option
from sparkiac.rules.readings import tested
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG022",
    slug="pinned-backend",
    severity=Severity.INFO,
    sources=(
        "Spark guide L337",
        "vLLM blog L46-48",
        "SM121 reference L60-66",
    ),
    since="0.1.0",
)
_OPTIONS: Final = ("linear_backend", "moe_backend", "attention_backend")
_NO_PIN: Final = {"", "auto", "marlin", "triton_attn"}
"""What is no pin, and what sources pin on sm_121."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find pins without a known reason."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    for name in _OPTIONS:
        backend = option(container, name)
        if backend not in {str(tested(container, name)).lower(), *_NO_PIN} and not _judged(container, name, backend):
            message = f"{container.name} pins {name} to {backend}, which its recipe does not"
            yield hit(host, container, ("set", name), message, "remove it, or allow it with your measurement")


def _judged(container: Container, name: str, backend: str) -> bool:
    """Whether a rule about this backend speaks of it already."""
    if name == "moe_backend":
        return fp4_moe(container) or backend == "flashinfer_trtllm" or falls_back(container)
    return backend == "flashinfer" and fp8(container)
