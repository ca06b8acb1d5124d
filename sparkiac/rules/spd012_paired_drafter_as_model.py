"""A paired MTP drafter is run as a model of its own.

`draft_model` loads the drafter as a full model beside the target, and throughput falls. A drafter that was made for
MTP, such as Gemma 4's assistant, is run by the method `mtp` with that `model`. (The source says that it gained 40 per
cent; its own table shows a change of -3 to +2.)

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: draft_model, model: google/gemma-4-26B-A4B-it-assistant}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: mtp, model: google/gemma-4-26B-A4B-it-assistant}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Edit, Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="SPD012",
    slug="paired-drafter-as-model",
    severity=Severity.ERROR,
    sources=(
        "dual-Spark post L101, L118",
        "Spark guide L271-274",
    ),
    since="0.1.0",
)
_PAIRED: Final = "assistant"
"""How the names of paired drafters end, and of the directories that hold one."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find drafters for MTP under the method draft_model."""
    for host in plan.hosts:
        for container in host.containers:
            yield from _hits(container, host.name)


def _hits(container: Container, host: str) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    if chosen.get("method") == "draft_model" and chosen["model"].endswith(_PAIRED):
        message = f"{chosen['model']} is a drafter for MTP, and {container.name} would load it as a model of its own"
        path, leaf = (*container.path, "speculative"), (*container.path, host, "speculative")
        fix = (Edit((*path, "method"), "mtp"),)
        yield Hit(path, message, "write method: mtp", leaf=leaf, host=host, fix=fix)
