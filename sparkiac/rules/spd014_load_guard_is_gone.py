"""The option that switched speculation off under load does not exist any more.

Speculation costs throughput when many requests run at once, and `--speculative-disable-by-batch-size` used to switch it
off then. vLLM has not read it since 0.10 and refuses it since it was removed. Lower `max_num_seqs`, or serve bursts
from a second deployment without speculation.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {speculative_disable_by_batch_size: 32}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_num_seqs: 2}
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
    code="SPD014",
    slug="load-guard-is-gone",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L679-680, L715, L774-775, L784-785",
        "vLLM pull request 35060: unused since 0.10, removed",
    ),
    since="0.1.0",
)
_OPTION: Final = "speculative_disable_by_batch_size"


def check(plan: Plan) -> Iterator[Hit]:
    """Find the option."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    if container.server.engine == "vllm" and _OPTION in container.server.options:
        message = f"{container.name} sets {_OPTION}, which vLLM has not read since 0.10"
        path = ("set", _OPTION)
        hint = "remove it; lower max_num_seqs, or serve bursts without speculation"
        leaf, fix = (*container.path, host, *path), (Edit((*container.path, *path), REMOVE),)
        yield Hit((*container.path, *path), message, hint, leaf=leaf, host=host, fix=fix)
