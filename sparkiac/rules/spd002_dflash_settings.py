"""A setting that Spark guide removes for DFlash was put back.

`kv_cache_dtype`, on vLLM 0.20 and 0.21: the drafter needs non-causal attention, and none of vLLM's attention backends
had that together with an FP8 KV cache, says its developer in May 2026
(https://github.com/vllm-project/vllm/pull/42692). Nothing is said of later or unknown releases: support came step by
step (https://github.com/vllm-project/vllm/pull/43081).

`VLLM_USE_DEEP_GEMM`: Spark guide says that DeepGEMM breaks the drafts (L741), and DeepGEMM faulted on sm_121 though
vLLM reported it as supported (https://github.com/vllm-project/vllm/issues/54125). Newer builds have code for this GPU
(https://github.com/vllm-project/vllm/pull/53055).

Choosing the method removes `kv_cache_dtype` and sets VLLM_USE_DEEP_GEMM=0 by itself; a deployment or the defaults that
say otherwise win.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
    set: {kv_cache_dtype: fp8}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.readings import before
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD002",
    slug="dflash-settings",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L164, L675, L741, L768, L779, L781",
        "https://github.com/vllm-project/vllm/pull/42692",
        "https://github.com/vllm-project/vllm/pull/43081",
        "https://github.com/vllm-project/vllm/issues/54125",
        "https://github.com/vllm-project/vllm/pull/53055",
    ),
    since="0.1.0",
)
_BF16: Final = {"auto", "bfloat16"}
_AFTER: Final = "0.22.0"
"""The first release after what vLLM's developer said of FP8 KV caches."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments with DFlash and another value of what the method sets."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    if (container.server.speculative or {}).get("method") != "dflash":
        return
    dtype = container.server.options.get("kv_cache_dtype", "auto")
    if dtype not in _BF16 and before(container, _AFTER):
        message = f"{container.name} drafts with DFlash and sets kv_cache_dtype: {dtype}, which failed up to vLLM 0.21"
        hint = f"remove kv_cache_dtype, or choose an image with vLLM {_AFTER} or newer"
        yield _hit(container, host, ("set", "kv_cache_dtype"), message, hint)
    if container.server.engine == "vllm" and container.command.env.get("VLLM_USE_DEEP_GEMM") != "0":
        message = f"{container.name} drafts with DFlash without VLLM_USE_DEEP_GEMM=0; DeepGEMM faulted on sm_121"
        hint = "if the server ends in DeepGEMM, set VLLM_USE_DEEP_GEMM: 0"
        yield _hit(container, host, ("env", "VLLM_USE_DEEP_GEMM"), message, hint)


def _hit(container: Container, host: str, key: tuple[str, str], message: str, hint: str) -> Hit:
    path, leaf = (*container.path, *key), (*container.path, host, *key)
    return Hit(path, message, hint, leaf=leaf, host=host)
