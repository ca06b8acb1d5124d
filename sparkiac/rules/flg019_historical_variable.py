"""VLLM_USE_V1 chooses an engine that is the only one by now.

vLLM's first engine is gone since 0.11.1, and the variable with it: later releases do not know it. The dual-Spark post
sets it on 0.19.0, where it does nothing.

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
    env: {VLLM_USE_V1: 1}
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
    code="FLG019",
    slug="historical-variable",
    severity=Severity.INFO,
    sources=(
        "dual-Spark post L41",
        "Spark guide L332",
        "vLLM blog L43",
    ),
    since="0.1.0",
)
_KEY: Final = ("env", "VLLM_USE_V1")


def check(plan: Plan) -> Iterator[Hit]:
    """Find the variable where the release does not know it."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "VLLM_USE_V1" in container.command.env and since(container, "0.11.1"):
        message = f"{container.name} sets VLLM_USE_V1, which {container.image.vllm} does not know"
        fix = written(container, *_KEY, value=REMOVE)
        yield hit(host, container, _KEY, message, "remove it", fix=fix)
