"""The image may refuse the checkpoint: it takes none that mixes FP8 and NVFP4.

NGC 26.02 holds vLLM 0.15.1, which rejects MoE checkpoints whose quantization is MIXED_PRECISION, FP8 and NVFP4
together (Spark guide L110). The catalog does not know which checkpoints are mixed, so each MoE in NVFP4 that is not
known as compressed-tensors is named. For other models 26.02 is a supported choice (L30). Look into the checkpoint's
hf_quant_config.json, or take 26.04 or a nightly.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: nvcr.io/nvidia/vllm:26.02-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
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
    code="IMG004",
    slug="image-rejects-mixed-precision",
    severity=Severity.WARNING,
    sources=("Spark guide L30, L110",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find MoE models in NVFP4 on images that reject mixed checkpoints."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tag, found = container.image.tag, kernels.known(container)
    if tag is None or found is None or "mixed-precision" not in tag.lacks:
        return
    if kernels.fp4_moe(container) and found.checkpoint != "compressed-tensors":
        message = f"{kernels.image(container)} rejects a mix of FP8 and NVFP4, which {container.server.model} may be"
        hint = "take nvcr.io/nvidia/vllm:26.04-py3 or a nightly, or waive this if the checkpoint is not MIXED_PRECISION"
        yield kernels.hit(host, container, ("image",), message, hint)
