"""YaRN stretches the context, for short prompts too.

vLLM's YaRN is static: every request is served with the stretched positions, and short ones lose quality. A prompt of
a million tokens takes minutes on this machine, so what fits is not fast. Stay within the model's own length, or keep
a second deployment for long documents. The factor times the original length is what it reaches: 2.0 about 524K
tokens, 4.0 about 1M.

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
    env: {VLLM_ALLOW_LONG_MAX_MODEL_LEN: 1}
    set:
      max_model_len: 524288
      hf_overrides:
        text_config:
          rope_parameters: {rope_type: yarn, factor: 2.0, original_max_position_embeddings: 262144}
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
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.readings import count, reach, yarns
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG014",
    slug="stretched-context",
    severity=Severity.WARNING,
    sources=("Spark guide L177-178, L370-372",),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find YaRN among the overrides of the model's configuration."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    for yarn in yarns(container):
        tokens, length = reach(yarn), count(container, "max_model_len") or 0
        message = f"{container.name} serves short prompts with positions stretched to {tokens} tokens"
        if length > tokens:
            message = f"{container.name} asks for {length} tokens, and its YaRN reaches {tokens}"
        hint = "stay within the model's own length, or raise the factor if you must"
        yield hit(host, container, ("set", "hf_overrides"), message, hint)
