"""A compressed-tensors checkpoint is served as one of ModelOpt.

Checkpoints that llm-compressor wrote, such as those of RedHatAI and Unsloth, are compressed-tensors: with
`quantization: modelopt` their weights are read wrongly, or not at all. vLLM finds the format by itself, so Spark guide
leaves the option out; the dual-Spark post writes `compressed-tensors`, which says the same. Of a checkpoint of
RedHatAI's that no source ran this is a warning.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: unsloth/qwen3.6-27b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {quantization: modelopt}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: unsloth/qwen3.6-27b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import REMOVE, Severity
from sparkiac.rules import kernels
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="QNT002",
    slug="modelopt-for-compressed-tensors",
    severity=Severity.ERROR,
    sources=("Spark guide L103, L166, L200, L258, L650", "dual-Spark post L46"),
    since="0.1.0",
)
_KEY: Final = ("set", "quantization")


def check(plan: Plan) -> Iterator[Hit]:
    """Find compressed-tensors checkpoints that are served as ModelOpt's."""
    for host, container in kernels.deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    found = kernels.known(container)
    likely = found is None and kernels.model(container).startswith("redhatai/")
    known = found is not None and found.checkpoint == "compressed-tensors"
    if kernels.option(container, "quantization").startswith("modelopt") and (known or likely):
        said = "is" if known else "looks like"
        message = f"{container.server.model} {said} compressed-tensors, and {container.name} reads it as ModelOpt"
        severity = Severity.WARNING if likely else None
        fix = kernels.written(container, *_KEY, value=REMOVE) if known else ()
        hint = "remove quantization: vLLM finds it out"
        yield kernels.hit(host, container, _KEY, message, hint, severity, fix=fix)
