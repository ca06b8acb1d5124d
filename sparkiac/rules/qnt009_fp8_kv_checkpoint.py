"""The checkpoint carries an FP8 KV cache, which gives scrambled output on this GPU.

Laguna-XS.2-FP8 and -INT4 hold scales for an FP8 KV cache; on GPUs other than Hopper their output is scrambled. Serve
the BF16 checkpoint poolside/Laguna-XS.2, or set `kv_cache_dtype: bfloat16`. The option `kv_cache_dtype: fp8` on other
models is another matter.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: poolside/Laguna-XS.2-FP8
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    model: poolside/Laguna-XS.2
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    code="QNT009",
    slug="fp8-kv-checkpoint",
    severity=Severity.ERROR,
    sources=("Spark guide L781",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find these checkpoints with the KV cache that they carry."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    concerned = any(fnmatchcase(kernels.model(container), each) for each in ("*/laguna-xs.2-fp8", "*/laguna-xs.2-int4"))
    if concerned and kernels.option(container, "kv_cache_dtype") != "bfloat16":
        message = f"{container.server.model} carries an FP8 KV cache, and its output is scrambled on sm_121"
        hint = "serve poolside/Laguna-XS.2, or write `set: {kv_cache_dtype: bfloat16}`"
        yield kernels.hit(host, container, ("model",), message, hint)
