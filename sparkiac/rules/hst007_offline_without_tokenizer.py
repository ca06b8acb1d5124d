"""The server loads a tokenizer that nothing puts into the model store.

HF_HUB_OFFLINE=1 is set in every deployment, so that a restart depends on no network: whatever the server loads must be
in the store (Spark guide L58-60). The model, its drafter and all under `needs_models` are looked for before the start;
a tokenizer or configuration of another repository is only known as an option, and the server ends without it. The
dual-Spark post serves RedHatAI's checkpoint of Qwen3.6-35B-A3B with the tokenizer of the original (L45).

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {tokenizer: Qwen/Qwen3.6-35B-A3B}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8001
    set: {tokenizer: Qwen/Qwen3.6-35B-A3B}
    needs_models: [Qwen/Qwen3.6-35B-A3B]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.deployments import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="HST007",
    slug="offline-without-tokenizer",
    severity=Severity.WARNING,
    sources=(
        "Spark guide L58-60",
        "dual-Spark post L45",
    ),
    since="0.1.0",
)
_OPTIONS: Final = ("tokenizer", "hf_config_path")


def check(plan: Plan) -> Iterator[Hit]:
    """Find options that name a repository which is not asked for."""
    for host, container in deployments(plan):
        for name in _OPTIONS:
            wanted = str(container.server.options.get(name) or "/")
            if not wanted.startswith("/") and wanted not in container.weights.models:
                message = f"{container.name} loads {wanted} as its {name}, and does not ask for it in the store"
                yield hit(host, container, ("set", name), message, f"add needs_models: [{wanted}]")
