"""The model store is not mounted where the server looks for its weights.

The server reads the hub's cache under HF_HOME, or under /root/.cache/huggingface. Without a mount there it finds
nothing and exits, because no container downloads weights; if one did, it would download 27 to 120 billion parameters
again at every start (Spark guide L62). The sources mount the store at /models with HF_HOME=/models (Spark guide
L46-57), or at /root/.cache/huggingface (vLLM blog L66, dual-Spark post L42): both are fine.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    container: {mounts: {/models: null}}
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
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.engines.engine import HUB_HOME
from sparkiac.plan import Plan
from sparkiac.rules.deployments import models
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "source"), "huggingface_hub: offline mode", "Spark guide L46-62")


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments that load from the hub's cache without a mount for it."""
    for host, container in models(plan):
        home = container.command.env.get("HF_HOME", HUB_HOME)
        if container.weights.models and not any(_holds(mount.target, home) for mount in container.storage.mounts):
            message = f"{container.name} reads {container.weights.models[0]} from {home}, but nothing is mounted there"
            hint = f"add container.mounts: {{{home}: {{source: model_store}}}}"
            yield Hit((*container.path, "container", "mounts"), message, hint, host=host.name)


def _holds(target: str, home: str) -> bool:
    return f"{home}/".startswith(f"{target}/") or target == f"{home}/hub"
