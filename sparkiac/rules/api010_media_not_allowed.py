"""Nemotron-3-Nano-Omni is served without what media need.

It reads video, audio and images. Without `allowed_local_media_path` it refuses files, and without
`limit_mm_per_prompt` it has no bound on how many of each a request may bring. `media_io_kwargs` sets how video is
cut: 2 frames a second and 256 frames, or 1 and 128 for 1080p; it takes up to two minutes of video and one hour of
audio.

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
    set: {limit_mm_per_prompt: null}
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

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="API010",
    slug="media-not-allowed",
    severity=Severity.ERROR,
    sources=("Spark guide L306, L317-324",),
    since="0.1.0",
)
_NEEDED: Final = ("allowed_local_media_path", "limit_mm_per_prompt")


def check(plan: Plan) -> Iterator[Hit]:
    """Find the model without its options."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    missing = [option for option in _NEEDED if not container.server.options.get(option)]
    if "nemotron-3-nano-omni" in model(container) and missing:
        message = f"{container.name} takes media, and is without {' and '.join(missing)}"
        yield hit(host, container, ("set", missing[0]), message, "add what the model's recipe sets")
