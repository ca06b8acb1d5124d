"""A ModelOpt checkpoint is served without `quantization: modelopt`.

Spark guide has NVIDIA's NVFP4 checkpoints of Qwen3.6 and Gemma 4 served with `--quantization modelopt`, and counts
leaving it out among the common first failures (L101-103, L650). vLLM blog says to leave the option unset, as vLLM
reads the format from the checkpoint (L50), and all Nemotron 3 recipes run without it. So it is an error where a recipe
was tested with it, nothing is said of Nemotron 3, and any other NVFP4 checkpoint of NVIDIA's, whose older names end in
FP4, gets a warning.

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
    set: {quantization: null}
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
    slug="modelopt-not-said",
    severity=Severity.ERROR,
    sources=("Spark guide L101-103, L291-299, L313-321, L333, L650", "vLLM blog L50"),
    since="0.1.0",
)
_KEY: Final = ("set", "quantization")
_HINT: Final = "write `set: {quantization: modelopt}`"


def check(plan: Plan) -> Iterator[Hit]:
    """Find ModelOpt checkpoints whose deployment does not say so."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen, found = kernels.option(container, "quantization"), kernels.known(container)
    if chosen.startswith("modelopt"):
        return
    said = f"says quantization: {chosen}" if chosen else "does not set quantization"
    if found is not None and found.checkpoint == "modelopt":
        message = f"{container.server.model} was written by ModelOpt, and {container.name} {said}"
        fix = kernels.written(container, *_KEY, value="modelopt")
        yield kernels.hit(host, container, _KEY, message, _HINT, fix=fix)
    elif found is None and _of_nvidia(kernels.model(container)):
        message = f"{container.server.model} looks like a ModelOpt checkpoint, and {container.name} {said}"
        hint = f"look at quant_method in its config.json; if it is modelopt, {_HINT}"
        yield kernels.hit(host, container, _KEY, message, hint, severity=Severity.WARNING)


def _of_nvidia(handle: str) -> bool:
    """Whether it is an NVFP4 checkpoint of NVIDIA's, but none of those that were tested without the option."""
    return handle.startswith("nvidia/") and "fp4" in handle and "nemotron-3-" not in handle
