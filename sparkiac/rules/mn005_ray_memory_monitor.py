"""Ray may end the server, because it takes the weights for memory that ran out.

Ray's monitor ends processes when the machine's memory is nearly full, which on this machine it always is: the GPU's
memory is the same (SM121 reference L47, L75). RAY_memory_monitor_refresh_ms=0 turns it off. A group over several hosts
needs no Ray: each node is started by vLLM's own options.

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
    port: 8001
    set: {distributed_executor_backend: ray}
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
    port: 8001
    set: {distributed_executor_backend: ray}
    env: {RAY_memory_monitor_refresh_ms: 0}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, option, written
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MN005",
    slug="ray-memory-monitor",
    severity=Severity.ERROR,
    sources=("SM121 reference L47, L75",),
    since="0.1.0",
)
_VARIABLE: Final = "RAY_memory_monitor_refresh_ms"


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments on Ray with its monitor."""
    for host, container in deployments(plan):
        if option(container, "distributed_executor_backend") == "ray" and container.command.env.get(_VARIABLE) != "0":
            message = f"{container.name} runs on Ray, and does not set {_VARIABLE}=0"
            hint = f"add env: {{{_VARIABLE}: 0}}, or remove distributed_executor_backend"
            fix = written(container, "env", _VARIABLE, value=0)
            yield hit(host, container, ("env", _VARIABLE), message, hint, fix=fix)
