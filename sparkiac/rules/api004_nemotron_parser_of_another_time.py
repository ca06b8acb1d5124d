"""Nemotron 3 is parsed in the way of another release of vLLM.

Images of December 2025 need NVIDIA's plugin file for it, `nano_v3` or `super_v3`. Later releases have `nemotron_v3`
built in: in vLLM's source from 0.17.1 on, and run by sources from 0.20.0 on. There the plugin is a file of someone
else that can go stale; in the older image the built-in name is unknown.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4
    image: vllm/vllm-openai:v0.23.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {reasoning_parser: super_v3, reasoning_parser_plugin: /models/super_v3.py}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4
    image: vllm/vllm-openai:v0.23.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {reasoning_parser: nemotron_v3}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, image, model, option
from sparkiac.rules.readings import before, since
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="API004",
    slug="nemotron-parser-of-another-time",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L298-302, L320",
        "vLLM blog L44",
    ),
    since="0.1.0",
)
_PLUGINS: Final = {"nano_v3", "super_v3"}
_BUILT_IN: Final = "nemotron_v3"
_KEY: Final = ("set", "reasoning_parser")


def check(plan: Plan) -> Iterator[Hit]:
    """Find parsers that do not fit the image."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    parser = option(container, "reasoning_parser")
    if "nemotron-3-" not in model(container):
        return
    if parser in _PLUGINS and since(container, "0.20.0"):
        message = f"{container.name} parses reasoning with the plugin {parser}, and {_BUILT_IN} is in the image"
        yield hit(
            host, container, _KEY, message, f"set reasoning_parser: {_BUILT_IN}, and reasoning_parser_plugin: null"
        )
    if parser == _BUILT_IN and (":25.12" in image(container) or before(container, "0.17.1")):
        message = f"{image(container)} has no parser {_BUILT_IN}"
        yield hit(host, container, _KEY, message, "take the plugin that the model's recipe fetches")
