"""A source saw this image fail on the machine's GPU, or its CUDA is older than the GPU.

The tag gemma4 is a 0.18.2 build that Spark guide saw end with `[FP4 gemm Runner] Failed to run cutlass FP4 gemm` (L113,
L216). The tag may have moved since; the dual-Spark post waits for a stable build under this name (L123).

CUDA 12.9 is the first release with a compiler target for sm_121. An image whose tag names an older one holds no code
made for this GPU. Code for sm_120 (CUDA 12.8) or PTX may still run, and Triton's own compiler may not know the GPU:
a v0.12.0 image ended with `Value 'sm_121a' is not defined` (https://github.com/vllm-project/vllm/issues/30163).

Releases of vllm/vllm-openai are not warned of: a maintainer called sm_121 support stable in January 2026
(https://github.com/vllm-project/vllm/issues/28129), and NVIDIA's playbooks for DGX Spark use such images. Spark guide
still asks for a nightly (L29, L651).

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
    severity=Severity.WARNING,
    sources=(
        "Spark guide L29-30, L113, L214-216, L651",
        "dual-Spark post L123",
        "release notes of CUDA 12.9: the first with sm_121",
        "https://github.com/vllm-project/vllm/issues/28129",
        "https://github.com/vllm-project/vllm/issues/30163",
    ),
    since="0.1.0",
)
_CUDA: Final = re.compile(r"(?:^|[-_.])cu(?:da)?-?(1\d)\.?(\d)")
_FIRST_CUDA: Final = (12, 9)
_SM_121: Final = "12.1"
_HINT: Final = "try it before it serves, or take an image with CUDA 13; for Gemma 4 there is the tag gemma4-cu130"


def check(plan: Plan) -> Iterator[Hit]:
    """Find images that failed on a host's platform, or that are older than its GPU."""
    for host in plan.hosts:
        for container in host.containers:
            why = _failed(host, container) or _older_cuda(host, container)
            if why is not None:
                message = f"{kernels.image(container)} of {container.name} may not run on {host.name}: {why}"
                path = (*container.path, "image")
                leaf = (*container.path, host.name, "image")
                yield Hit(path, message, _HINT, leaf=leaf, host=host.name)


def _failed(host: HostPlan, container: Container) -> str | None:
    tag = container.image.tag
    return None if tag is None else tag.failed_on.get(host.platform_name)


def _older_cuda(host: HostPlan, container: Container) -> str | None:
    """Say so if the tag of an image with a GPU names a CUDA that does not know sm_121."""
    named = _CUDA.search(kernels.image(container).rpartition("/")[2].partition(":")[2])
    if named is None or not container.confinement.gpu or host.gpu is None or host.gpu.compute_capability != _SM_121:
        return None
    version = int(named[1]), int(named[2])
    if version >= _FIRST_CUDA:
        return None
    return f"its tag names CUDA {version[0]}.{version[1]}, and CUDA 12.9 is the first with a target for sm_121"
