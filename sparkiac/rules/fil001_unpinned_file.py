"""A file that is fetched to a host has no sha256.

A plugin or a chat template is code that runs with the model. The content behind its address can change at any time
without anybody noticing. The lock records the sha256 of every file, under its address as the inventory or recipe writes
it; the playbook refuses any other content. A file that you put on the host yourself is a mount.

The lock of both examples:

```yaml
version: 1
images: {}
files:
  "hf://example/model/parser.py":
    sha256: "1111111111111111111111111111111111111111111111111111111111111111"
```

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    container:
      files: {/opt/parser.py: {url: "hf://example/model/another.py"}}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    container:
      files: {/opt/parser.py: {url: "hf://example/model/parser.py"}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "contract"),
    "Spark guide L212, L241, L282: a template, a patched loader and a parser that are fetched by hand",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find extra files without a hash."""
    for host, container in plan.containers:
        for file in container.storage.files:
            if file.sha256 is None:
                path = ("container", "files", file.target)
                message = f"{container.name} uses {file.url}, which the lock does not pin"
                yield hit(host, container, path, message, "run sparkiac lock")
