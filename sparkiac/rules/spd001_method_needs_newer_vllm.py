"""The vLLM in the image is older than the method of speculative decoding.

vLLM before 0.21.0 does not know DFlash, and before 0.19.0 no MTP for these models: the server ends with a line about
the method, after the weights have been loaded. The release comes from what the catalog knows of the image's tag; where
that is unknown, nothing is said.

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
    method, found = (container.speculative or {}).get("method", ""), container.image.vllm
    oldest = _OLDEST.get(method)
    if oldest is not None and found is not None and _numbers(found) < _numbers(oldest):
        message = f"{method} needs vLLM {oldest} or newer, and {container.image.reference} holds {found}"
        leaf = (*container.path, host, "speculative")
        yield Hit((*container.path, "speculative"), message, "choose a newer image", leaf=leaf, host=host)


def _numbers(version: str) -> tuple[int, ...]:
    """Give a release as numbers of one length: a series such as 0.21 counts from its first release."""
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (4 - len(parts)))
