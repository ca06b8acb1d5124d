"""The container has only 64 MB of shared memory.

The server's processes exchange tensors through /dev/shm, which is 64 MB in a container by default. All commands of the
sources share the host's with --ipc=host; some also set a size, from 16 GB up (Spark guide L186, L309). It is memory,
not a volume (L65). Recipes of the catalog have 16 GiB on one host, and a group shares that of its hosts.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    container: {ipc: private, shm_size_gib: null}
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
    container: {ipc: private, shm_size_gib: 16}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.plan import Plan
from sparkiac.rules.deployments import models
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "measured"), "Spark guide L65, L186, L202, L263, L309")


def check(plan: Plan) -> Iterator[Hit]:
    """Find private shared memory of Docker's default size."""
    for host, container in models(plan):
        private = container.confinement.ipc != "host" and container.confinement.shm_size_bytes is None
        if private and engines.named(container.server.engine).processes:
            message = f"{container.name} has only 64 MB of shared memory"
            hint = "set container.ipc: host, or container.shm_size_gib: 16"
            yield hit(host, container, ("container", "ipc"), message, hint)
