"""The MTP heads of Qwen3.6-35B-A3B are not set to the Triton backend.

NVIDIA's recipe for vLLM 0.23 runs the experts of its checkpoint on Marlin and those of the MTP heads on Triton, with
`moe_backend: triton` inside `speculative`. Keep both there and on later releases. On vLLM 0.19 the dual-Spark post runs
the MTP of RedHatAI's checkpoint without that key.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    variant: minimal
    image: vllm/vllm-openai:v0.23.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: mtp, num_speculative_tokens: 3}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:v0.23.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.readings import since
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="MOE007",
    slug="drafter-without-triton",
    severity=Severity.INFO,
    sources=("Spark guide L153, L714", "dual-Spark post L54"),
    since="0.1.0",
)
_MODEL: Final = "nvidia/qwen3.6-35b-a3b-nvfp4"


def check(plan: Plan) -> Iterator[Hit]:
    """Find MTP of that model on vLLM 0.23 whose heads run on another backend."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    concerned = kernels.model(container) == _MODEL and chosen.get("method") == "mtp"
    if concerned and since(container, "0.23.0") and chosen.get("moe_backend") != "triton":
        message = f"the MTP heads of {container.server.model} run on another backend than triton, which its recipe has"
        hint = "write `moe_backend: triton` under `speculative`"
        yield kernels.hit(host, container, ("speculative",), message, hint)
