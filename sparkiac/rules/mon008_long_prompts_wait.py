"""The longest prompt that is allowed takes more than a minute to be read.

Reading a prompt is bound by computing: its time is the number of its tokens divided by a speed that hardly changes
(Spark guide L34, L600). Qwen3.6-35B-A3B in NVFP4 reads about 6200 tokens per second there, Gemma 4 26B-A4B 5000 to 6500
(L253), Nemotron 3 Super 1640 to 1880 (vLLM blog L85-86). Clients must wait as long before the first word. Prefix
caching saves the part of a prompt that was read before.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {max_model_len: 131072}
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
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {max_model_len: 65536}
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

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MON008",
    slug="long-prompts-wait",
    severity=Severity.INFO,
    sources=(
        "Spark guide L34, L253, L600",
        "vLLM blog L85-86, L89",
    ),
    since="0.1.0",
)
_SPEEDS: Final = {"qwen3.6-35b-a3b": 6200, "gemma-4-26b-a4b": 5000, "nemotron-3-super-120b-a12b": 1640}
"""Part of a model's name → tokens of a prompt that it reads in a second, by its slowest measurement."""
_PATIENCE_S: Final = 60


def check(plan: Plan) -> Iterator[Hit]:
    """Find lengths that take longer than a client likes to wait."""
    for host, container in deployments(plan):
        length = count(container, "max_model_len") or 0
        speed = next((speed for name, speed in _SPEEDS.items() if name in model(container)), length or 1)
        if length > speed * _PATIENCE_S:
            message = f"{container.name} needs about {length // speed} s to read a prompt of {length} tokens"
            hint = "lower max_model_len, or give clients a timeout that is longer"
            yield hit(host, container, ("set", "max_model_len"), message, hint)
