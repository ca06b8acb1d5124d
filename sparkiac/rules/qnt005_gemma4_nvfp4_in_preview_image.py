"""The image failed to load checkpoints of Gemma 4 in NVFP4.

The dual-Spark post saw NVFP4 checkpoints of Gemma 4 fail in gemma4-0505-arm64-cu130, and quantises the BF16 model to
FP8 at load there (L100-102). Spark guide serves NVFP4 from other images: gemma4-cu130, for the 26B model with a
patched loader, and a nightly for the 12B coder (L213-257). Take one of those images, or google/gemma-4-26B-A4B-it with
`quantization: fp8`.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/gemma-4-31b-it-nvfp4
    image: >-
      vllm/vllm-openai:gemma4-0505-arm64-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/gemma-4-31b-it-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="QNT005",
    slug="gemma4-nvfp4-in-preview-image",
    severity=Severity.WARNING,
    sources=("dual-Spark post L99-102", "Spark guide L213-257"),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find Gemma 4 in NVFP4 on an image that failed to load it."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tag = container.image.tag
    if tag is not None and "gemma4-nvfp4" in tag.lacks and fnmatchcase(kernels.model(container), "*/gemma-4-*nvfp4*"):
        message = f"checkpoints of Gemma 4 in NVFP4 failed to load in {kernels.image(container)}"
        yield kernels.hit(host, container, ("image",), message, "take gemma4-cu130")
