"""The drafter of gemma-4-12B-coder runs without an FP8 KV cache.

The checkpoint brings its own drafter for MTP, which breaks on a KV cache in another format. It needs
`kv_cache_dtype: fp8`: the opposite of DFlash, whose cache stays in BF16.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    variant: mtp
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {kv_cache_dtype: null}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    variant: mtp
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model, option, written
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD004",
    slug="coder-draft-needs-fp8",
    severity=Severity.ERROR,
    sources=("Spark guide L270, L274, L781",),
    since="0.1.0",
)
_KEY: Final = ("set", "kv_cache_dtype")


def check(plan: Plan) -> Iterator[Hit]:
    """Find the drafter with another cache."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    drafts = "gemma-4-12b-coder" in model(container) and (container.server.speculative or {}).get("method") == "mtp"
    if drafts and option(container, "kv_cache_dtype") != "fp8":
        message = f"{container.name} drafts with a KV cache that is not fp8"
        fix = written(container, *_KEY, value="fp8")
        yield hit(host, container, _KEY, message, "set kv_cache_dtype: fp8", fix=fix)
