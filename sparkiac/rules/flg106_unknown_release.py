"""Nobody knows which vLLM the image holds.

Its options, their values and its variables then cannot be compared with what it takes: only what no known release
has is found. The catalog knows the release behind the tags that the sources name. A fork or a private build may take
more, or less.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: example.org/vllm:1@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {}
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
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules import release
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

RULE: Final = Rule(
    code="FLG106",
    slug="unknown-release",
    severity=Severity.INFO,
    sources=release.SOURCES,
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find servers whose release is not known."""
    for container, host in release.servers(plan):
        if release.known(container) is None:
            message = (
                f"what vLLM {container.image.reference} holds is not known: "
                f"values, keys and names of {container.name} are not checked"
            )
            hint = f"run `sparkiac images capture {container.image.reference}` for this inventory where the image lies"
            leaf = (*container.path, host, "image")
            yield Hit((*container.path, "image"), message, hint, leaf=leaf, host=host)
