"""Prefix caching needs a larger batch than the deployment allows.

For a model with Mamba layers vLLM aligns cached blocks with their state: 2128 tokens for Qwen3.6-35B-A3B. One batch
must hold a block, so the server ends with an AssertionError at the default of 2048 tokens; the dual-Spark post saw it
three times in a row. `max_num_batched_tokens: 8192` mends it. Prefix caching that nobody asks for is no fault: on NGC
26.04 it was off for this model until the post asked for it, and Spark guide runs the model on a nightly with neither
option. For other hybrid models no source gives the size of a block.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {enable_prefix_caching: true}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {enable_prefix_caching: true, max_num_batched_tokens: 8192}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.readings import count
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG007",
    slug="mamba-block-size",
    severity=Severity.ERROR,
    sources=(
        "dual-Spark post L4-10, L114-116",
        "Spark guide L152, L171-174, L705-714",
    ),
    since="0.1.0",
)
_BLOCKS: Final = {"qwen3.6-35b-a3b": 2128}
"""Part of the model's name → tokens in a block."""
_DEFAULT: Final = 2048
"""Tokens in a batch where nothing is said, as the dual-Spark post saw it."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find batches that are smaller than a block of the model."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    block = next((size for part, size in _BLOCKS.items() if part in model(container)), 0)
    tokens = count(container, "max_num_batched_tokens") or _DEFAULT
    if container.server.options.get("enable_prefix_caching") and tokens < block:
        message = f"{container.name} batches {tokens} tokens, and its model caches blocks of {block}"
        hint = "set max_num_batched_tokens: 8192"
        yield hit(host, container, ("set", "max_num_batched_tokens"), message, hint)
