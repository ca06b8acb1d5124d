"""The vLLM in the image is older than its support for the drafter of Qwen3.6-27B.

Some layers of this drafter see a window and some everything. vLLM serves the mix since July 2026
(https://github.com/vllm-project/vllm/pull/47914), on its second model runner alone; 0.26.0 has it
(https://github.com/vllm-project/vllm/issues/50707). Before that vLLM ends with `DFlash does not yet support mixed
sliding/full attention`, or, in its first releases with DFlash, reads all layers alike. A newer one that asks for it wants
VLLM_USE_V2_MODEL_RUNNER=1. Spark guide knows one image with a patch (pull request 40898, since superseded):
ghcr.io/aeon-7/aeon-vllm-ultimate. Of a build of your own, and where the release is unknown, nothing is said.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-27B
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
from sparkiac.rules.readings import before
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD008",
    slug="drafter-needs-pull-request",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L182, L744, L750",
        "https://github.com/vllm-project/vllm/pull/47914",
        "https://github.com/vllm-project/vllm/issues/50707",
    ),
    since="0.1.0",
)
_DRAFTER: Final = "z-lab/Qwen3.6-27B-DFlash"
_TARGET: Final = "qwen3.6-27b"
"""Part of its target's name: beside another model it is SPD005 that speaks."""
_HAS_IT: Final = "ghcr.io/aeon-7/aeon-vllm-ultimate"
_SINCE: Final = "0.26.0"
"""The first release that serves the mix."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find the drafter on a release that cannot serve it."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    drafts = (container.server.speculative or {}).get("model") == _DRAFTER and _TARGET in model(container)
    if drafts and before(container, _SINCE) and not image(container).startswith(_HAS_IT):
        message = f"{_DRAFTER} needs vLLM {_SINCE}, and {image(container)} holds {container.image.vllm}"
        hint = f"choose an image with vLLM {_SINCE} or newer and set VLLM_USE_V2_MODEL_RUNNER: 1, or image: {_HAS_IT}"
        yield hit(host, container, ("image",), message, hint)
