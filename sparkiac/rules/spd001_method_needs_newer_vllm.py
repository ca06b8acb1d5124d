"""The vLLM in the image is older than the method of speculative decoding.

DFlash works from vLLM 0.21.0 on, and MTP for these models from 0.19.0 on. Before that the server ends with a line
about the method, after the weights have been loaded. The source of 0.20.0 already has a method of the name dflash;
Spark guide says twice that 0.21.0 is the floor, and it speaks of what runs on this machine. The release comes from
what the catalog knows of the image's tag; where that is unknown, nothing is said.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
from sparkiac.rules.readings import before
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD001",
    slug="method-needs-newer-vllm",
    severity=Severity.ERROR,
    sources=("Spark guide L667, L673, L757, L767-768, L778",),
    since="0.1.0",
)
_OLDEST: Final = {"dflash": "0.21.0", "mtp": "0.19.0", "deepseek_mtp": "0.19.0"}
"""Method → first vLLM release that has it."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers whose image is too old for their method."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    method = (container.server.speculative or {}).get("method", "")
    oldest = _OLDEST.get(method)
    if oldest is not None and before(container, oldest):
        message = f"{method} needs vLLM {oldest} or newer, and {image(container)} holds {container.image.vllm}"
        leaf = (*container.path, host, "speculative")
        yield Hit((*container.path, "speculative"), message, "choose a newer image", leaf=leaf, host=host)
