"""Prefix caching is chosen where vLLM's default decides well.

For plain transformers it is on by default: saying so changes nothing. Some hybrid models have it off, and there it is
worth saying. Switched off it costs a whole prefill for each request; Spark guide does that only for the lowest
latency with MTP and one user.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: redhatai/qwen3.5-122b-a10b-nvfp4
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {enable_prefix_caching: false}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: redhatai/qwen3.5-122b-a10b-nvfp4
    image: vllm/vllm-openai:cu130-nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Severity
from sparkiac.rules.kernels import deployments, hit, known, written
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG008",
    slug="prefix-caching-said",
    severity=Severity.INFO,
    sources=(
        "Spark guide L34, L332, L715",
        "vLLM blog L43",
        "dual-Spark post L4-10",
        "DeepSeek-V4 thread L290",
    ),
    since="0.1.0",
)
_PLAIN: Final = {"dense", "moe"}
_MTP: Final = {"mtp", "deepseek_mtp"}
_KEY: Final = ("set", "enable_prefix_caching")


def check(plan: Plan) -> Iterator[Hit]:
    """Find the option where the default is as good or better."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    facts, caching = known(container), container.server.options.get("enable_prefix_caching")
    if caching is True and facts is not None and facts.architecture.kind in _PLAIN:
        message = f"prefix caching is on by default for {container.server.model}"
        fix = written(container, *_KEY, value=REMOVE)
        yield hit(host, container, _KEY, message, "remove enable_prefix_caching", fix=fix)
    if caching is False and (container.server.speculative or {}).get("method") not in _MTP:
        message = f"{container.name} computes the whole prompt of each request anew"
        yield hit(host, container, _KEY, message, "remove enable_prefix_caching, or write true for a hybrid model")
