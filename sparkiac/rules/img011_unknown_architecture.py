"""The vLLM in the image does not know the model's architecture.

A release of vLLM serves the architectures that it registers, with the Transformers that they need, and ends with an
error on any other. Gemma 4 needs 0.19, the 12B coder with its unified architecture 0.23, Nemotron-3-Nano-Omni 0.20,
Qwen3.5-122B 0.17. NGC 26.04 runs Omni under an older architecture, without audio: `hf_overrides: {architectures:
[NemotronH_Nano_VL_V2]}`.

The release comes from what the catalog knows of the image's tag; of other images nothing is said.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sparkiac.catalog import interfaces
from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="IMG011",
    slug="unknown-architecture",
    severity=Severity.ERROR,
    sources=("Spark guide L212, L274, L325", "dual-Spark post L99", "vLLM's source: registry of models"),
    since="0.1.0",
)
_ARCHITECTURES: Final = {
    "*/gemma-4-12b-coder*": "Gemma4UnifiedForConditionalGeneration",
    "*/gemma-4-*": "Gemma4ForConditionalGeneration",
    "*/qwen3.5-122b-a10b*": "Qwen3_5MoeForConditionalGeneration",
    "*/nemotron-3-nano-omni*": "NemotronH_Nano_Omni_Reasoning_V3",
}
"""Handle in lower case → architecture; the first that fits."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find models whose architecture the image's vLLM does not register."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    tag, vllm = container.image.tag, container.image.vllm
    wanted = _architecture(container)
    if tag is None or vllm is None or wanted is None or host.platform_name in tag.failed_on:
        return
    release = interfaces.interface(interfaces.nearest(vllm))
    if release is not None and wanted not in release.architectures:
        message = f"{container.model} is {wanted}, which vLLM {vllm} in {kernels.image(container)} does not know"
        yield kernels.hit(host, container, ("image",), message, "choose a newer image; the page says which release")


def _architecture(container: Container) -> str | None:
    """Give the architecture of a model that is known to need a newer release, or what overrides it."""
    overrides = container.options.get("hf_overrides")
    named = overrides.get("architectures") if isinstance(overrides, Mapping) else None
    if isinstance(named, tuple) and named:
        return str(named[0])
    handle = kernels.model(container)
    return next((name for pattern, name in _ARCHITECTURES.items() if fnmatchcase(handle, pattern)), None)
