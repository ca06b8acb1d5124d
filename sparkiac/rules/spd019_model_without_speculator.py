"""The method needs heads or a drafter, and this model has none.

Nemotron-3-Nano comes with no speculator at all. Gemma-4-26B-A4B and 31B have no MTP heads; the 26B has a paired
drafter, google/gemma-4-26B-A4B-it-assistant, that runs in the preview image of May 5 and newer builds. (Spark guide
says that the 26B has no MTP, the dual-Spark post runs it; the post's image is newer.) vLLM knows that drafter from
0.21.0 on. `ngram` needs neither heads nor drafter.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: nvidia/Gemma-4-31B-IT-NVFP4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: mtp}
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

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, image, model
from sparkiac.rules.readings import before
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD019",
    slug="model-without-speculator",
    severity=Severity.ERROR,
    sources=(
        "Spark guide L32, L336, L681-691",
        "dual-Spark post L94, L101",
        "vLLM blog L45",
    ),
    since="0.1.0",
)
_NO_HEADS: Final = ("gemma-4-26b-a4b", "gemma-4-31b")
_TRAINED: Final = {"mtp", "dflash"}
_HINT: Final = "choose method: ngram, or remove `speculative`; Gemma-4-26B-A4B takes its paired drafter as `model`"


def check(plan: Plan) -> Iterator[Hit]:
    """Find methods that the model has nothing for."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen, served = container.server.speculative or {}, model(container)
    method, drafter = chosen.get("method"), chosen.get("model")
    without = any(part in served for part in _NO_HEADS) and method == "mtp" and drafter is None
    if without or ("nemotron-3-nano" in served and method in _TRAINED):
        message = f"{container.server.model} has no speculator for {method}"
        yield hit(host, container, ("speculative",), message, _HINT)
    elif "gemma-4-26b-a4b" in served and method == "mtp" and before(container, "0.21.0"):
        message = f"{image(container)} is too old for MTP with the paired drafter of {container.server.model}"
        yield hit(host, container, ("image",), message, "choose gemma4-0505-arm64-cu130 or a nightly")
