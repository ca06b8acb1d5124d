r"""A setting holds a dash or quotes that a word processor made.

Forums and documents turn `--` into a dash and straight quotes into curly ones. Copied into options or variables they
are ordinary letters: the server does not know the option, or cannot read the JSON. Type them anew. Where such a
character is meant, in a prompt for example, allow this with a reason.

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
    port: 8000
    env: {EXTRA_ARGS: "\u2013enable-prefix-caching"}
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
    port: 8000
    env: {EXTRA_ARGS: '--enable-prefix-caching'}
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG017",
    slug="typographic-characters",
    severity=Severity.ERROR,
    sources=("DeepSeek-V4 thread L358, L381-383",),
    since="0.1.0",
)
_FOREIGN: Final = re.compile("[\u2012-\u2015\u2018-\u201f\u2212]")


def check(plan: Plan) -> Iterator[Hit]:
    """Find such characters in what a server is started with."""
    for host in plan.hosts:
        for container in host.containers:
            for key, value in _settings(container):
                found = _FOREIGN.search(str(value))
                if found:
                    message = f"{key[-1]} of {container.name} holds the typographic character {found[0]}"
                    yield hit(host, container, key, message, "type it anew: - and straight quotes")


def _settings(container: Container) -> Iterator[tuple[tuple[str, ...], object]]:
    for kind, settings in (("set", container.options), ("env", container.env)):
        yield from (((kind, name), value) for name, value in settings.items())
    yield ("container", "prelude"), container.prelude
    if container.kind == "service":
        yield ("command",), container.command
