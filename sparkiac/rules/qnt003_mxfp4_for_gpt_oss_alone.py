"""The image reads MXFP4 from gpt-oss checkpoints alone.

The loader of NGC 26.04 wants experts as 3D uint8 tensors, as gpt-oss has them. Any other checkpoint ends with an
IndexError in fused_moe/layer.py, and after a patch of that with wrong shapes: nothing becomes MXFP4 at load. Use
`gptq_marlin` for GPTQ-Int4 checkpoints and `fp8` for FP8. Builds for DeepSeek-V4-Flash choose MXFP4 by the checkpoint,
without this option.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3-30B-A3B
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: mxfp4}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: openai/gpt-oss-120b
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: mxfp4}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="QNT003",
    slug="mxfp4-for-gpt-oss-alone",
    severity=Severity.ERROR,
    sources=("SM121 reference L28-31, L71",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find MXFP4 for other models in images that cannot read it."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tag = container.image.tag
    asked = kernels.option(container, "quantization") == "mxfp4"
    if asked and tag is not None and "mxfp4" in tag.lacks and "gpt-oss" not in kernels.model(container):
        message = (
            f"{kernels.image(container)} reads MXFP4 from gpt-oss checkpoints alone, not from {container.server.model}"
        )
        hint = "write gptq_marlin for a GPTQ-Int4 checkpoint, fp8 for an FP8 one"
        yield kernels.hit(host, container, ("set", "quantization"), message, hint)
