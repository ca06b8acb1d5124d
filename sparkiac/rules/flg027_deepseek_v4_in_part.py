"""DeepSeek-V4-Flash runs without some options that its recipe sets.

The recipes of the DeepSeek-V4 thread set these options for its attention, its chat format and its reasoning. Others run
the model on DGX Spark without some of them, such as `reasoning_config` or `block_size`
(https://github.com/eugr/spark-vllm-docker/pull/219, https://github.com/vllm-project/recipes/pull/493). What a recipe
itself leaves out is not asked for.

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
    severity=Severity.INFO,
    sources=(
        "DeepSeek-V4 thread L189, L280-304, L380-385",
        "https://github.com/eugr/spark-vllm-docker/pull/219",
        "https://github.com/vllm-project/recipes/pull/493",
    ),
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
        message = f"{container.name} differs from the recipe of its model in {', '.join(missing)}"
        hint = "compare with `sparkiac recipes show deepseek-ai/deepseek-v4-flash`"
        yield hit(host, container, ("set", missing[0]), message, hint)
