"""The server loads a tokenizer that is not staged in the model store.

Every deployment sets HF_HUB_OFFLINE=1, so that a restart depends on no network: everything that the server loads must
be in the store (Spark guide L58-60). The preflight checks the model, its drafter and all entries of `needs_models`
before the start. It does not check a tokenizer or configuration of another repository that only an option names, and
the server exits without it. The dual-Spark post serves RedHatAI's checkpoint of Qwen3.6-35B-A3B with the tokenizer of
the original (L45).

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {tokenizer: Qwen/Qwen3.6-35B-A3B}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {tokenizer: Qwen/Qwen3.6-35B-A3B}
    needs_models: [Qwen/Qwen3.6-35B-A3B]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import deployments
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "measured"), "Spark guide L58-60", "dual-Spark post L45")
_OPTIONS: Final = ("tokenizer", "hf_config_path")


def check(plan: Plan) -> Iterator[Hit]:
    """Find options that name a repository which is missing in needs_models."""
    for host, container in deployments(plan):
        for name in _OPTIONS:
            wanted = str(container.server.options.get(name) or "/")
            if not wanted.startswith("/") and wanted not in container.weights.models:
                message = f"{container.name} loads {wanted} as its {name}, but does not list it under needs_models"
                yield hit(host, container, ("set", name), message, f"add needs_models: [{wanted}]")
