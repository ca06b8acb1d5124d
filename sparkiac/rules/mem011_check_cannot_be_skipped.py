"""The image does not know the variable that skips the check of free memory.

VLLM_SKIP_INIT_MEMORY_CHECK=1 takes away an assertion that fails on this machine with memory to spare (DeepSeek-V4
thread L370-371). It is a patch of the builds for DeepSeek-V4: no release of vLLM reads it, and the log calls it
unknown. The cure is a clean boot and a lower share; the same thread tunes the kernel instead (L323, L329).

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    env: {VLLM_SKIP_INIT_MEMORY_CHECK: 1}
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
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.8}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MEM011",
    slug="check-cannot-be-skipped",
    severity=Severity.WARNING,
    sources=("DeepSeek-V4 thread L323, L329, L370-371, L385",),
    since="0.1.0",
)
_VARIABLE: Final = "VLLM_SKIP_INIT_MEMORY_CHECK"


def check(plan: Plan) -> Iterator[Hit]:
    """Find the variable beside an image whose release of vLLM is known."""
    for host, container in deployments(plan):
        tag = container.image.tag
        added = {*container.server.extra.variables, *(tag.added.variables if tag else ())}
        if _VARIABLE in container.command.env and container.image.vllm is not None and _VARIABLE not in added:
            message = f"{container.name} sets {_VARIABLE}, which vLLM {container.image.vllm} does not read"
            hint = "remove it; start from a clean boot, with a lower gpu_memory_utilization"
            yield hit(host, container, ("env", _VARIABLE), message, hint)
