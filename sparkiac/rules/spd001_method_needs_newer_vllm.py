"""DFlash runs on vLLM 0.20.

vLLM knows the method dflash from 0.20.0 on; an older release is found by FLG105. Spark guide names 0.21.0 as the first
that works on this machine (L667, L757, L768), and says nothing of what fails before.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import image
from sparkiac.rules.readings import before, since
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD001",
    slug="method-needs-newer-vllm",
    severity=Severity.INFO,
    sources=("Spark guide L667, L673, L757, L767-768, L778",),
    since="0.1.0",
)
_FIRST: Final = "0.20.0"
"""The first release with the method."""
_NAMED: Final = "0.21.0"
"""The first release that the source names."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find DFlash on a release that the source does not name."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    method = (container.server.speculative or {}).get("method")
    if method == "dflash" and since(container, _FIRST) and before(container, _NAMED):
        message = f"{image(container)} holds vLLM {container.image.vllm}; Spark guide names {_NAMED} for DFlash"
        leaf = (*container.path, host, "speculative")
        hint = f"if drafting fails, choose an image with vLLM {_NAMED} or newer"
        yield Hit((*container.path, "speculative"), message, hint, leaf=leaf, host=host)
