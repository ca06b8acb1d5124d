"""DeepSeek-V4-Flash runs with a part of the options that belong together.

Its attention, its chat format and its reasoning each need their own options, and the thread's recipes differ in other
things only. No source ran the model with a part of what its recipe has. Take the recipe and change nothing of these;
speculation may be left away. The second recipe of the thread prints no options for chat format and reasoning: what a
recipe itself leaves out is not asked for.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.12/24}]}
deployments:
  chat:
    recipe: base/single-spark
    model: deepseek-ai/DeepSeek-V4-Flash
    image: vllm-node-dsv4@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: [spark-01, spark-02]
    port: 8000
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, address: 192.168.177.12/24}]}
deployments:
  chat:
    recipe: base/single-spark
    model: deepseek-ai/DeepSeek-V4-Flash
    image: vllm-node-dsv4@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: [spark-01, spark-02]
    port: 8000
    set:
      kv_cache_dtype: fp8
      block_size: 256
      compilation_config: {cudagraph_mode: FULL_AND_PIECEWISE, custom_ops: [all]}
      tokenizer_mode: deepseek_v4
      tool_call_parser: deepseek_v4
      reasoning_parser: deepseek_v4
      reasoning_config: {reasoning_parser: deepseek_v4, reasoning_start_str: <think>, reasoning_end_str: </think>}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.readings import own
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG027",
    slug="deepseek-v4-in-part",
    severity=Severity.ERROR,
    sources=("DeepSeek-V4 thread L189, L280-304, L380-385",),
    since="0.1.0",
)
_BUNDLE: Final[dict[str, Any]] = {
    "kv_cache_dtype": "fp8",
    "block_size": 256,
    "compilation_config": {"cudagraph_mode": "FULL_AND_PIECEWISE", "custom_ops": ("all",)},
    "tokenizer_mode": "deepseek_v4",
    "tool_call_parser": "deepseek_v4",
    "reasoning_parser": "deepseek_v4",
    "reasoning_config": {
        "reasoning_parser": "deepseek_v4",
        "reasoning_start_str": "<think>",
        "reasoning_end_str": "</think>",
    },
}


def check(plan: Plan) -> Iterator[Hit]:
    """Find the model without one of its options."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    if "deepseek-v4-flash" not in model(container):
        return
    recipe = own(container).get("set", {}) if container.server.facts is not None else _BUNDLE
    missing = [name for name in _BUNDLE if name in recipe and container.server.options.get(name) != recipe[name]]
    if missing:
        message = f"{container.name} has not all options that its model needs together: {', '.join(missing)}"
        hint = "take them from deepseek-ai/deepseek-v4-flash: `sparkiac recipes show` lists them"
        yield hit(host, container, ("set", missing[0]), message, hint)
