"""The KV cache is FP8, and the catalog has no recipe that runs this model so.

An FP8 KV cache takes half the memory. Some models fall into loops with it: Spark guide calls it a matter of the model
and runs Qwen3.5-122B without it (L335, L652); vLLM blog advises against it unless memory forces it and answers were
checked (L45). It works with Qwen3.6-35B-A3B, Gemma-4-26B, the Gemma 4 coder, Nemotron-3-Nano and DeepSeek-V4-Flash in
the catalog's sources: of these nothing is said. That the catalog knows no such recipe says nothing against other
models.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/gemma-4-31b-it-nvfp4
    image: vllm/vllm-openai:gemma4-cu130@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {kv_cache_dtype: fp8}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/gemma-4-31b-it-nvfp4
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
    code="QNT008",
    slug="fp8-kv-cache-untested",
    severity=Severity.INFO,
    sources=(
        "Spark guide L148, L245, L270, L296, L302, L324, L335, L652",
        "dual-Spark post L47, L88",
        "DeepSeek-V4 thread L288, L381",
        "vLLM blog L45, L56",
    ),
    since="0.1.0",
)
_TESTED: Final = (
    *("*/qwen3.6-35b-a3b*", "*/gemma-4-26b-a4b*", "*/gemma-4-12b-coder*", "*/*nemotron-3-nano-30b*"),
    "*/deepseek-v4-flash*",
)
_RUN_WITHOUT: Final = "*/qwen3.5-122b-a10b*"


def check(plan: Plan) -> Iterator[Hit]:
    """Find FP8 KV caches of models that no recipe of the catalog runs so."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    handle = kernels.model(container)
    if (container.server.speculative or {}).get("method") == "dflash" or any(
        fnmatchcase(handle, each) for each in _TESTED
    ):
        return
    if kernels.option(container, "kv_cache_dtype").startswith("fp8"):
        without = fnmatchcase(handle, _RUN_WITHOUT)
        said = "Spark guide runs {} without" if without else "the catalog has no recipe that runs {} so"
        message = f"{container.name} keeps its KV cache in FP8; {said.format(container.server.model)}"
        hint = "check some answers for loops and wrong facts; if they suffer, remove kv_cache_dtype"
        yield kernels.hit(host, container, ("set", "kv_cache_dtype"), message, hint)
