"""A ModelOpt checkpoint is served with another word for its format.

vLLM finds ModelOpt checkpoints by their own hf_quant_config.json or config.json, and takes the format that they say,
whatever the word is (https://github.com/vllm-project/vllm/blob/main/docs/features/quantization/modelopt.md). So the
word has no effect, and misleads the next reader. Leaving `quantization` out is right: vLLM blog says so (L50), and
NVIDIA's playbook for DGX Spark does it. Spark guide counts leaving it out among the common first failures (L101-103,
L650) and writes `quantization: modelopt`, which is right as well.

Bad:

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
    set: {quantization: compressed-tensors}
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
    code="QNT001",
    slug="modelopt-as-another-format",
    severity=Severity.INFO,
    sources=(
        "https://github.com/vllm-project/vllm/blob/main/docs/features/quantization/modelopt.md",
        "vLLM blog L50",
        "Spark guide L101-103, L650",
    ),
    since="0.1.0",
)
_KEY: Final = ("set", "quantization")


def check(plan: Plan) -> Iterator[Hit]:
    """Find ModelOpt checkpoints whose deployment says another format."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen, found = kernels.option(container, "quantization"), kernels.known(container)
    if found is not None and found.checkpoint == "modelopt" and chosen and not chosen.startswith("modelopt"):
        model = container.server.model
        message = f"{container.name} sets quantization: {chosen}; vLLM reads {model} as ModelOpt all the same"
        yield kernels.hit(host, container, _KEY, message, "remove quantization, or set it to modelopt")
