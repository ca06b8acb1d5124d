"""The container passes arguments to an image that reads only environment variables.

AEON-7's ghcr.io/aeon-7/vllm-dflash builds the server's command line from variables: MODEL_PATH, DFLASH_DRAFTER,
MAX_MODEL_LEN and others. Arguments are ignored, or they break its start script. A recipe for that image, such as
aeon-7/dflash-qwen3.5-27b-nvfp4, writes the options as those variables.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.5-27B
    image: ghcr.io/aeon-7/vllm-dflash@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: aeon-7/dflash-qwen3.5-27b-nvfp4
    image: ghcr.io/aeon-7/vllm-dflash@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    api_key: null
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "source"), "github.com/AEON-7/vllm-dflash: start script", "Spark guide L724-741")


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers with such an image that have a command."""
    for host, container in plan.containers:
        tag = container.image.tag
        if tag is not None and tag.style == "environment" and container.command.words:
            image = container.image.short
            message = f"{image} reads only environment variables, but {container.name} passes arguments"
            hint = "use a recipe whose engine is aeon-vllm, or remove `command` and use `env`"
            yield hit(host, container, ("image",), message, hint)
