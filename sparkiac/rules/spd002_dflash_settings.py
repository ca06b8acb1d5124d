"""A setting that DFlash cannot work with was put back.

DFlash drafts from a KV cache in BF16, and DeepGEMM breaks its draft path without a word. Choosing the method removes
`kv_cache_dtype` and sets VLLM_USE_DEEP_GEMM=0 by itself; a deployment or the defaults that say otherwise win, and then
the drafts are wrong or the server does not start.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Edit, Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD002",
    slug="dflash-settings",
    severity=Severity.ERROR,
    sources=("Spark guide L164, L675, L741, L768, L779, L781",),
    since="0.1.0",
)
_BF16: Final = {"auto", "bfloat16"}


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments with DFlash that lack what it needs."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    if (container.server.speculative or {}).get("method") != "dflash":
        return
    dtype = container.server.options.get("kv_cache_dtype", "auto")
    if dtype not in _BF16:
        message = f"DFlash needs a KV cache in BF16, and {container.name} asks for {dtype}"
        yield _hit(container, host, ("set", "kv_cache_dtype"), message, "remove kv_cache_dtype")
    if container.server.engine == "vllm" and container.command.env.get("VLLM_USE_DEEP_GEMM") != "0":
        message = f"DFlash needs VLLM_USE_DEEP_GEMM=0, and {container.name} does not set it"
        yield _hit(container, host, ("env", "VLLM_USE_DEEP_GEMM"), message, "remove VLLM_USE_DEEP_GEMM")


def _hit(container: Container, host: str, key: tuple[str, str], message: str, what: str) -> Hit:
    hint = f"{what} from the deployment or the defaults"
    path, leaf = (*container.path, *key), (*container.path, host, *key)
    return Hit(path, message, hint, leaf=leaf, host=host, fix=(Edit(path, REMOVE),))
