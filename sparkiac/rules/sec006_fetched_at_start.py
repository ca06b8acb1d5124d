"""A container installs packages or downloads files without a fixed version at each start.

A restart then depends on the network and on what the owners publish: what runs is not what was reviewed. The Spark
guide installs audio packages with pip (L313) and downloads a parser with wget (L283-284). Build an image with the
packages, or name each version; put a file under `container.files`, so that the lock records its sha256.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    container: {read_only: false, prelude: [[pip, install, "vllm[audio]"]]}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    container: {read_only: false, prelude: [[pip, install, soundfile==0.13.1]]}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("unknown", "format"), "Spark guide L283-284, L313")
_FETCHERS: Final = re.compile(r"(^|[\s/;&|(])(wget|curl|git clone|apt(-get)? install|hf download)(\s|$)")
_PIP: Final = re.compile(r"(^|[\s/;&|(])(pip3?|uv pip) install\s(?P<words>.*)")


def check(plan: Plan) -> Iterator[Hit]:
    """Find commands before the server that download something."""
    for host, container in plan.containers:
        for command in container.command.pre_start:
            line = " ".join(command)
            if _FETCHERS.search(line) or _floats(line):
                message = f"{container.name} downloads with `{line}` at each start"
                hint = "build an image with it (`builds:`), or pin each package as name==version"
                yield hit(host, container, ("container", "prelude"), message, hint)


def _floats(line: str) -> bool:
    """Return whether pip installs a package without a version."""
    found = _PIP.search(line)
    words = found["words"].split() if found else ()
    return any("==" not in word for word in words if not word.startswith("-"))
