"""Gemma-4-26B in NVFP4 is served without the patched loader.

The checkpoint holds scales for each expert which gemma4.py of vLLM 0.19 does not map: the server ends with `KeyError:
'…experts.0.down_proj.input_scale'` (vLLM issue 38912). bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4 comes with
gemma4_patched.py, which its recipe mounts over the image's file.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: bg-digitalservices/gemma-4-26b-a4b-it-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    container: {files: null}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: bg-digitalservices/gemma-4-26b-a4b-it-nvfp4
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
    code="QNT006",
    slug="gemma4-loader-not-patched",
    severity=Severity.ERROR,
    sources=("Spark guide L232-242, L250-252",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find Gemma-4-26B in NVFP4 on vLLM 0.19 without a loader of its own."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    targets = [*(each.target for each in container.storage.files), *(each.target for each in container.storage.mounts)]
    patched = any(target.endswith("/vllm/model_executor/models/gemma4.py") for target in targets)
    concerned = fnmatchcase(kernels.model(container), "*gemma-4-26b-a4b*nvfp4*")
    if concerned and (container.image.vllm or "").startswith("0.19") and not patched:
        message = f"vLLM {container.image.vllm} cannot load {container.server.model} without a patched gemma4.py"
        hint = "take the recipe bg-digitalservices/gemma-4-26b-a4b-it-nvfp4, which mounts one under `files`"
        yield kernels.hit(host, container, ("container", "files"), message, hint)
