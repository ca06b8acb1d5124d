"""No longest context is set, so it is the model's own.

That may be 262144 tokens, or a card's 4096. The value admits requests and reserves nothing: the pool of the KV cache
has the size that `gpu_memory_utilization` gives it, and must hold one context. Start with 65536; vLLM blog wants
131072 for agents, whose prompts easily exceed 20K tokens; 262144 is for long documents. (Spark guide says in one
place that 262144 reserves far too much, and in another that it is the single change that is needed.)

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
    port: 8000
    set: {max_model_len: null}
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
    port: 8000
    set: {max_model_len: 65536}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG021",
    slug="length-left-to-the-model",
    severity=Severity.INFO,
    sources=(
        "Spark guide L156, L175, L331, L349-369",
        "vLLM blog L41",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments without the option."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if container.server.options.get("max_model_len") is None:
        message = f"{container.name} admits prompts up to whatever length its model's configuration says"
        yield hit(host, container, ("set", "max_model_len"), message, "set max_model_len, 65536 to begin with")
