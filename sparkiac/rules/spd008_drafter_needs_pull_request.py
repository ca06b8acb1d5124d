"""The drafter of Qwen3.6-27B needs a vLLM that mixes its layers of attention.

Some of its layers see a window and some everything, which vLLM serves with pull request 40898 only. Spark guide knows
one image that has it: ghcr.io/aeon-7/aeon-vllm-ultimate. A build of your own is not questioned: merge the pull
request there. If your image has it by now, allow this with its release.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-27B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    model: Qwen/Qwen3.6-27B
    image: ghcr.io/aeon-7/aeon-vllm-ultimate:latest@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""  # noqa: E501  a reference with its digest is one word

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, image, model
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD008",
    slug="drafter-needs-pull-request",
    severity=Severity.ERROR,
    sources=("Spark guide L182, L744, L750",),
    since="0.1.0",
)
_DRAFTER: Final = "z-lab/Qwen3.6-27B-DFlash"
_TARGET: Final = "qwen3.6-27b"
"""Part of its target's name: beside another model it is SPD005 that speaks."""
_HAS_IT: Final = "ghcr.io/aeon-7/aeon-vllm-ultimate"


def check(plan: Plan) -> Iterator[Hit]:
    """Find the drafter outside the image that has the code."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    drafts = (container.server.speculative or {}).get("model") == _DRAFTER and _TARGET in model(container)
    if drafts and container.image.build is None and not image(container).startswith(_HAS_IT):
        message = f"{_DRAFTER} needs vLLM pull request 40898, and no source says that {image(container)} has it"
        hint = f"image: {_HAS_IT}, or build vLLM with that pull request"
        yield hit(host, container, ("image",), message, hint)
