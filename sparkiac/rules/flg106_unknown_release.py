"""The vLLM release in the image is unknown.

Options, values and variables are then compared with all known releases: only what none of them takes is found, as a
warning. The release is known if the image was captured, if the lock records its version, or if its tag names one: an
upstream tag such as v0.24.0, or a tag that the catalog lists. A tag that moves, such as nightly, names none.

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
                f"the vLLM release in {container.image.reference} is unknown: "
                f"options of {container.name} are refused only if no known release takes them"
            )
            hint = f"run `sparkiac images capture {container.image.reference}` where the image is"
            leaf = (*container.path, host, "image")
            yield Hit((*container.path, "image"), message, hint, leaf=leaf, host=host)
