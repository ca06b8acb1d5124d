"""The build uses a version of nvidia-cutlass-dsl with which its code failed.

jasl/vllm imports `fmin` from cutlass.cute.arch. A source saw the server exit with an ImportError on 4.5.1 and run on
4.5.0 (DeepSeek-V4 thread L27-35). Without a pin the build installs the newest version of that day.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: deepseek-ai/DeepSeek-V4-Flash
    hosts: spark-01
    port: 8001
    image: engine
builds:
  engine:
    why: support that no release has
    repository: https://github.com/jasl/vllm.git
    commit: "1111111111111111111111111111111111111111"
    base: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    install: [pip, install, .]
    pip: ["nvidia-cutlass-dsl[cu13]==4.5.1"]
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: deepseek-ai/DeepSeek-V4-Flash
    hosts: spark-01
    port: 8001
    image: engine
builds:
  engine:
    why: support that no release has
    repository: https://github.com/jasl/vllm.git
    commit: "1111111111111111111111111111111111111111"
    base: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    install: [pip, install, .]
    pip: ["nvidia-cutlass-dsl[cu13]==4.5.0"]
    check: from cutlass.cute.arch import fmin
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "measured"), "DeepSeek-V4 thread L27-35")
_REPOSITORY: Final = "jasl/vllm"
_PACKAGE: Final = "nvidia-cutlass-dsl"
_PIN: Final = "nvidia-cutlass-dsl[cu13]==4.5.0"


def check(plan: Plan) -> Iterator[Hit]:
    """Find builds of that repository with another version, or none."""
    for build in plan.builds:
        pins = [pin for pin in build.spec.get("pip", ()) if pin.startswith(_PACKAGE)]
        if _REPOSITORY in build.spec.get("repository", "") and [pin for pin in pins if pin == _PIN] != [_PIN]:
            found = ", ".join(pins) or f"no {_PACKAGE}"
            hint = f'write pip: ["{_PIN}"]'
            yield Hit(
                build.path,
                f"the build {build.name} pins {found}; a source saw 4.5.1 fail and 4.5.0 run",
                hint,
            )
