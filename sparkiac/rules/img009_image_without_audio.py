"""The model hears, and the image has no audio packages.

vllm/vllm-openai:v0.20.0 holds no audio stack: every request with audio fails, and so does use_audio_in_video. Install
`vllm[audio]` before the server, as the recipe does, or better run an image that was built with it: an install at each
start needs the network and is not the same every day.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    container: {prelude: null}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="IMG009",
    slug="image-without-audio",
    severity=Severity.ERROR,
    sources=("Spark guide L312-313, L324",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find models with audio in images that lack it."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tag, found = container.image.tag, kernels.known(container)
    limits = container.server.options.get("limit_mm_per_prompt")
    wanted = found is not None and "audio" in found.modalities and not _forbidden(limits)
    installed = any("audio" in word for words in container.command.pre_start for word in words)
    if wanted and not installed and tag is not None and "audio" in tag.lacks:
        message = f"{container.server.model} takes audio, and {kernels.image(container)} has no audio packages"
        hint = "write `prelude: [[pip, install, 'vllm[audio]']]` under `container`, or build an image with it"
        yield kernels.hit(host, container, ("container", "prelude"), message, hint)


def _forbidden(limits: object) -> bool:
    """Whether no request may bring audio."""
    return isinstance(limits, Mapping) and limits.get("audio") == 0
