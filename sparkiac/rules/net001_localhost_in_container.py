"""A container connects to localhost, which is the container itself.

`http://localhost:8000/v1` points at the container that connects and not at its host: the connection fails although the
server is up. Name a deployment or service of this inventory under `uses`, and sparkiac fills in its address. For
anything else write the host's own address, or host.docker.internal, which sparkiac then makes available inside the
container.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    urls: ["http://localhost:8000/v1"]
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    urls: ["http://host.docker.internal:8000/v1", "http://192.168.1.10:8009/v1"]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "format"), "Spark guide L606-619", waivable=False)
_SELF: Final = {"localhost", "0.0.0.0"}  # noqa: S104  compared, not bound


def check(plan: Plan) -> Iterator[Hit]:
    """Find addresses in the inventory that name the container itself."""
    for host, container in plan.containers:
        for link in container.dependencies:
            name = link.hostname or ""
            if link.target is None and (name in _SELF or name.startswith("127.")):
                message = (
                    f"{container.name} connects to {link.url}, but inside a container {name} is the container itself"
                )
                hint = "name it under `uses`, or write the host's address, or host.docker.internal"
                yield Hit(link.path, message, hint, host=host.name)
