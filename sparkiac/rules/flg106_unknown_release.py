"""The vLLM release in the image is unknown.

Options, values and variables are then compared with all known releases: only those that no release accepts are
reported, as warnings. Facts about single releases are not checked. The release is known if the image was captured, if
the lock records its version, if the catalog lists its digest, or if its tag names one: an upstream tag such as v0.24.0,
a tag, a commit or a day that the catalog can place, or 0.24.0-cu130 of another image of vLLM. A moving tag, such as
nightly, names none.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: example.org/vllm:1@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.rules import release
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("advice", "parser"), *release.SOURCES, profile="recommended")


def check(plan: Plan) -> Iterator[Hit]:
    """Find images whose release is unknown: one hit for each image, at the first deployment that runs it."""
    found: dict[str, list[tuple[HostPlan, Container]]] = {}
    for host, container in release.servers(plan):
        if release.known(container) is None:
            found.setdefault(container.image.reference, []).append((host, container))
    for reference, runs in found.items():
        (host, container), *others = runs
        more = f" and {len(others)} more" if others else ""
        message = (
            f"the vLLM release in {reference.partition('@')[0]} is unknown: options of {container.name}{more} are "
            "compared with all releases, and facts about single releases are not checked"
        )
        hint = (
            f"run `sparkiac lock` if the image's labels name its release, or `sparkiac images capture {reference}` "
            "on a machine that has the image"
        )
        yield hit(host, container, ("image",), message, hint)
