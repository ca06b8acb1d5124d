"""Any client of the server can read every file in the container.

A request can name media by their path, and `allowed_local_media_path: /` allows every path: the model store, mounted
files, and the secret that contains the API key. vLLM's own help calls the option a security risk. The Spark guide's
recipe of Nemotron 3 Nano Omni has it (L319). Mount a directory with the media and allow only that.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {allowed_local_media_path: /}
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
    set: {allowed_local_media_path: /media}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.deployments import deployments
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("exposed", "source"),
    "https://github.com/vllm-project/vllm/blob/v0.19.0/vllm/config/model.py",
    "Spark guide L319, L324",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments that allow the root directory."""
    for host, container in deployments(plan):
        if str(container.server.options.get("allowed_local_media_path")).strip("/") == "":
            message = f"{container.name} allows requests to read every file in its container"
            hint = "set allowed_local_media_path: /media, and mount the media there"
            yield hit(host, container, ("set", "allowed_local_media_path"), message, hint)
