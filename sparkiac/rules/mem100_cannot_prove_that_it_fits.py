"""It cannot be proven that a model fits, because something is not known.

On unified memory a server that takes too much brings the whole machine down, and it is seen after a load of up to 15
minutes. `sparkiac plan` works out every term from the lock (tensors, config.json), from what the image holds and from
what the inventory measured. What lacks is named here. It is never taken for a pass.

The lock of both examples:

```yaml
version: 1
images: {}
models:
  example/another: {commit: "2222222222222222222222222222222222222222"}
  example/model:
    commit: "1111111111111111111111111111111111111111"
    tensor_bytes: 16000000000
    config: {model_type: qwen3, num_hidden_layers: 36, num_attention_heads: 32, num_key_value_heads: 8, head_dim: 128}
```

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/another
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.5}
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
    set: {gpu_memory_utilization: 0.5}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.memory.values import Unknown
from sparkiac.plan.labels import CAPTURE, remedies
from sparkiac.report import Severity
from sparkiac.rules.deployments import hit
from sparkiac.rules.proofs import proven
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit


RULE: Final = Rule(
    code="MEM100",
    slug="cannot-prove-that-it-fits",
    severity=Severity.WARNING,
    sources=("Spark guide L343-359",),
    since="0.1.0",
)


_TRY: Final = "try it under load, then allow this with what you measured"


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers whose KV cache cannot be worked out."""
    for host, container, proof in proven(plan):
        if isinstance(proof.fit, Unknown) and container.server.model in container.weights.commits:
            lacking = ", ".join(proof.fit.missing)
            verb = "is" if len(proof.fit.missing) == 1 else "are"
            message = f"it cannot be proven that {container.name} fits on {host.name}: {lacking} {verb} not known"
            yield hit(host, container, ("model",), message, "; ".join(remedies(proof.fit)) or _TRY)
        elif not isinstance(proof.fit, Unknown) and proof.assumption is not None:
            message = f"the memory of {container.name} on {host.name} is estimated {proof.assumption}"
            yield hit(host, container, ("image",), message, CAPTURE)
