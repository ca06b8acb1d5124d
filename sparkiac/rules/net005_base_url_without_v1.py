"""The base URL of an OpenAI-compatible server does not end in /v1.

Clients append /models and /chat/completions to it. Without /v1 the connection test passes, but no model appears.
Entries under `uses` get /v1 automatically.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    urls: ["http://192.168.1.10:8009"]
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
    urls: ["http://192.168.1.10:8009/v1"]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report import Edit
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "source"), "openai-python: path of a request", "Spark guide L639")
_SLASHES: Final = 2
"""Number of slashes in an address without a path."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find addresses in the inventory without /v1."""
    for host, container in plan.containers:
        for link in container.dependencies:
            if link.target is None and not (link.url or "").endswith("/v1"):
                # A path may have another fault than the missing /v1.
                bare = (link.url or "").count("/") == _SLASHES
                message = f"{container.name} connects to {link.url}, which does not end in /v1"
                fix = (Edit(link.path, f"{link.url}/v1"),) if bare else ()
                yield Hit(link.path, message, f"write {link.url}/v1", host=host.name, fix=fix)
