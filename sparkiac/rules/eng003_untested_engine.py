"""The catalog has no measured recipe for this engine.

The catalog's sources print commands for vLLM and for AEON-7's image alone. Others run SGLang, llama.cpp and
TensorRT-LLM on DGX Spark, NVIDIA's playbooks among them. Options of SGLang and llama.cpp are checked against their own
parsers, those of TensorRT-LLM against its documentation; whether an image serves on sm_121, and how fast, is unknown.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    allow: [{code: ENG003, reason: "served for a week on spark-01, with release 0.5.23"}]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

RULE: Final = Rule(
    code="ENG003",
    slug="untested-engine",
    severity=Severity.INFO,
    sources=("Spark guide L16-23: four engines run on a Spark, and commands are printed for vLLM alone",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments on an engine without a measured recipe."""
    for host in plan.hosts:
        for container in host.containers:
            if (
                container.kind == "deployment"
                and container.server.engine
                and not engines.named(container.server.engine).tested
            ):
                title = engines.named(container.server.engine).title
                message = f"{container.name} runs on {title}, for which the catalog has no measured recipe"
                hint = "try it before it serves; `allow` ENG003 with what you measured"
                yield Hit((*container.path, "recipe"), message, hint, host=host.name)
