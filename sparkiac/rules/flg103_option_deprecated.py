"""An option is deprecated in the vLLM in the image.

It still works, and a later release will exit on it. The option must change when the image is upgraded, so it is better
to change it now.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {calculate_kv_scales: true}
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
    set: {kv_cache_dtype: fp8}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("deprecated", "parser"), *release.SOURCES)


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find options and values that the release marks as deprecated."""
    for found in release.of_kinds(faults, "deprecated"):
        fault = found.fault
        if fault.wrong:
            has = found.release.elsewhere(release.with_name("quantization", fault.wrong))
        else:
            has = found.release.elsewhere(release.with_option(fault.option))
        message = f"{found.name} {fault.problem} in {found.release.title}{has}"
        yield found.hit(message, "see vLLM's release notes for its replacement")
