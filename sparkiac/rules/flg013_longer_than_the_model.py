"""The context is longer than what the model was trained for.

vLLM refuses to start with a `max_model_len` beyond the checkpoint's own length unless VLLM_ALLOW_LONG_MAX_MODEL_LEN
is 1. Set it only together with what makes the length work: YaRN in `hf_overrides` for Qwen3.6; Nemotron-3-Nano goes
on to a million tokens without. Spark guide sets the variable beside YaRN. vLLM 0.19 takes what YaRN reaches without it,
and 0.32 does not, so there this is a warning.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_model_len: 1010000}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_model_len: 262144}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, known
from sparkiac.rules.readings import count, reach, yarns
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG013",
    slug="longer-than-the-model",
    severity=Severity.ERROR,
    sources=(
        "Spark guide L178, L304, L371-372",
        "DeepSeek-V4 thread L270",
        "vLLM's source: how it derives the longest context",
    ),
    since="0.1.0",
)
_SWITCH: Final = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
_ON: Final = {"1", "true"}


def check(plan: Plan) -> Iterator[Hit]:
    """Find lengths beyond the known one."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    facts, length = known(container), count(container, "max_model_len") or 0
    native = (facts.architecture.native_context if facts else None) or length
    if length > native and container.command.env.get(_SWITCH) not in _ON:
        message = f"{container.server.model} was trained for {native} tokens, and {container.name} asks for {length}"
        hint = f"lower max_model_len to {native}, or set {_SWITCH}: 1 under env and what the model needs for it"
        stretched = any(length <= reach(yarn) for yarn in yarns(container))
        severity = Severity.WARNING if stretched else None
        yield hit(host, container, ("set", "max_model_len"), message, hint, severity)
