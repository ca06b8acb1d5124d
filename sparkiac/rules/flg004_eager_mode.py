"""Eager mode switches CUDA graphs off.

Without them every step waits for the launch of its kernels. SM121 reference measured about 26 tok/s instead of about 59
on vLLM 0.19.0 (L13-14); others measured smaller losses on GB10. It is a matter of speed alone, and some need it: two
nodes of GB10 were stable only with it (https://github.com/vllm-project/recipes/pull/414), and DeepSeek-V4-Flash hung in
its graphs (https://github.com/vllm-project/vllm/issues/40969).

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
    set: {enforce_eager: true}
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

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG004",
    slug="eager-mode",
    severity=Severity.INFO,
    sources=(
        "SM121 reference L13-14, L67",
        "Spark guide L339",
        "vLLM blog L56",
        "https://github.com/vllm-project/recipes/pull/414",
        "https://github.com/vllm-project/vllm/issues/40969",
    ),
    since="0.1.0",
)
_KEY: Final = ("set", "enforce_eager")


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments in eager mode."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if container.server.options.get("enforce_eager"):
        message = f"{container.name} runs in eager mode: SM121 reference measured 26 tok/s with it and 59 without"
        hint = "remove enforce_eager, unless the server hangs or ends without it"
        yield hit(host, container, _KEY, message, hint)
