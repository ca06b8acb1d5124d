"""The image cannot run on this machine's GPU.

Upstream's releases of vllm/vllm-openai have no support for sm_121 (Spark guide L29, L651): v0.20.0 is the exception
that NVIDIA validated, for Nemotron-3-Nano-Omni alone (L323-324). The tag gemma4 is a 0.18.2 build which ends with
`[FP4 gemm Runner] Failed to run cutlass FP4 gemm` (L113, L216); the dual-Spark post waits for a stable build of that
name (L123).

A tag that names a CUDA before 12.9, such as cu126, holds no code for sm_121 whatever else it says.

Take a nightly of the CUDA 13 track, NVIDIA's image, or for Gemma 4 the tag gemma4-cu130, each with its digest. If a
later build under such a name was tried here, waive this with what was tried.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-31B-it
    image: vllm/vllm-openai:gemma4@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    recipe: base/single-spark
    model: google/gemma-4-31B-it
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan

RULE: Final = Rule(
    code="IMG001",
    slug="image-without-sm121",
    severity=Severity.ERROR,
    sources=(
        "Spark guide L29-30, L113, L214-216, L312, L323-324, L651",
        "dual-Spark post L123",
        "vLLM blog L26-27",
        "release notes of CUDA 12.9: the first with sm_121",
    ),
    since="0.1.0",
)
_CUDA: Final = re.compile(r"(?:^|[-_.])cu(?:da)?-?(1\d)\.?(\d)")
_FIRST_CUDA: Final = (12, 9)
_SM_121: Final = "12.1"
_HINT: Final = "take cu130-nightly, gemma4-cu130 for Gemma 4, or an image of nvcr.io/nvidia/vllm"


def check(plan: Plan) -> Iterator[Hit]:
    """Find images that the catalog forbids on a host's platform."""
    for host in plan.hosts:
        for container in host.containers:
            why = _forbidden(host, container) or _older_cuda(host, container)
            if why is not None:
                message = f"{kernels.image(container)}, which {container.name} runs, cannot run on {host.name}: {why}"
                path = (*container.path, "image")
                leaf = (*container.path, host.name, "image")
                yield Hit(path, message, _HINT, leaf=leaf, host=host.name)


def _forbidden(host: HostPlan, container: Container) -> str | None:
    tag = container.image.tag
    if tag is None or container.server.model in tag.validated_for:
        return None
    return tag.forbidden_on.get(host.platform_name)


def _older_cuda(host: HostPlan, container: Container) -> str | None:
    """Say so if the tag of an image with a GPU names a CUDA that does not know sm_121."""
    named = _CUDA.search(kernels.image(container).rpartition("/")[2].partition(":")[2])
    if named is None or not container.confinement.gpu or host.gpu is None or host.gpu.compute_capability != _SM_121:
        return None
    version = int(named[1]), int(named[2])
    return f"it is built with CUDA {version[0]}.{version[1]}" if version < _FIRST_CUDA else None
