"""A JSON option has a key that the vLLM in the image does not have.

vLLM reads each JSON option into a configuration class, and the server exits on a key that the class lacks. Releases
before 0.16 silently ignore an unknown key of most classes, so the setting has no effect: then this is a warning.
`speculative:` is such an option too. Name a key of a fork or a patch under `extra_flags:`, with the reason, as
`compilation_config.cudagraph_modes`.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {compilation_config: {cudagraph_modes: FULL}}
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
    set: {compilation_config: {cudagraph_mode: FULL}}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.report import Severity
from sparkiac.report.hints import nearest
from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "source"), *release.SOURCES)
_OTHER: Final = "remove it, or use an image with such a release"
_PATCH: Final = "name a key of a patch under `extra_flags:`"


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find keys that the release's configuration classes do not have."""
    for found in release.of_kinds(faults, "key", "ignored"):
        fault = found.fault
        knows = release.with_key(fault.registry, fault.wrong)
        message, has = f"{found.name} is not a key of {found.release.title}", found.release.elsewhere(knows)
        hint = _OTHER if release.anywhere(knows) else f"{nearest(fault.wrong, fault.known)}; {_PATCH}"
        if fault.kind == "ignored":
            yield found.hit(f"{message}, which ignores it{has}", hint, Severity.WARNING)
        else:
            yield found.hit(f"{message}{has}", hint)
