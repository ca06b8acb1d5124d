"""The vLLM release in the image does not support the model's architecture.

A vLLM release serves the architectures of its registry and exits with an error on any other. Gemma 4 needs 0.19, the
12B coder with its unified architecture 0.23, Nemotron-3-Nano-Omni 0.20, Qwen3.5-122B 0.17. NGC 26.04 runs Omni under an
older architecture, without audio: `hf_overrides: {architectures: [NemotronH_Nano_VL_V2]}`.

For an upstream release and for an image whose interface `sparkiac images capture` recorded, this is an error. For a
vendor's or private build it is a warning, because its maker may have added the model. If the release is unknown,
nothing is reported.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    image: vllm/vllm-openai:v0.21.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    image: vllm/vllm-openai:v0.23.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.report import Severity
from sparkiac.rules import deployments, release
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "source"),
    "Spark guide L212, L274, L325",
    "dual-Spark post L99",
    "https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/model_executor/models/registry.py",
)
_ARCHITECTURES: Final = {
    "*/gemma-4-12b-coder*": "Gemma4UnifiedForConditionalGeneration",
    "*/gemma-4-*": "Gemma4ForConditionalGeneration",
    "*/qwen3.5-122b-a10b*": "Qwen3_5MoeForConditionalGeneration",
    "*/nemotron-3-nano-omni*": "NemotronH_Nano_Omni_Reasoning_V3",
}
"""Pattern of handles in lower case → architecture; the first match counts."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find models whose architecture the image's vLLM does not register."""
    for host, container in deployments.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    found, wanted = release.known(container), _architecture(container)
    if found is not None and wanted is not None and not found.has(lambda each: wanted in each.architectures):
        message = f"{container.server.model} has the architecture {wanted}, which {found.title} does not support"
        severity = None if found.exact else Severity.WARNING
        hint = f"use an image with another release: {release.releases_with(lambda each: wanted in each.architectures)}"
        yield hit(host, container, ("image",), message, hint, severity)


def _architecture(container: Container) -> str | None:
    """Return the architecture from hf_overrides, or that of a model that is known to need a newer release."""
    overrides = container.server.options.get("hf_overrides")
    named = overrides.get("architectures") if isinstance(overrides, Mapping) else None
    if isinstance(named, tuple) and named:
        return str(named[0])
    handle = (container.server.model or "").casefold()  # hubs ignore case
    return next((name for pattern, name in _ARCHITECTURES.items() if fnmatchcase(handle, pattern)), None)
