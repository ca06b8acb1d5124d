"""DeepSeek-V4-Flash reads long prompts without the pull request that makes it faster.

PR 43447 reads prompts 31.3% faster at 32K tokens of context and 35.8% at 64K, by one user's measurement; writing stays
as it is, and the prefix cache is still lost at times (DeepSeek-V4 thread L406-429). It does not apply as a patch and
has to be cherry-picked: the catalog's variant pr-43447 has a build of its own.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: deepseek-ai/DeepSeek-V4-Flash
    on: spark-01
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
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: deepseek-ai/DeepSeek-V4-Flash
    on: spark-01
    port: 8001
    image: engine
builds:
  engine:
    why: support that no release has
    repository: https://github.com/jasl/vllm.git
    commit: "1111111111111111111111111111111111111111"
    base: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    install: [pip, install, .]
    pull_requests: [{number: 43447, commit: "2222222222222222222222222222222222222222"}]
```
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.readings import count
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MN014",
    slug="slow-deep-prefill",
    severity=Severity.INFO,
    sources=("DeepSeek-V4 thread L406-429",),
    since="0.1.0",
)
_MODEL: Final = "deepseek-ai/deepseek-v4-flash"
_PULL: Final = "43447"
_DEEP: Final = 32_768


def check(plan: Plan) -> Iterator[Hit]:
    """Find builds for long contexts that do not name the pull request."""
    builds = {build.name: json.dumps([build.name, build.spec]) for build in plan.builds}
    for host, container in deployments(plan):
        build, length = builds.get(container.image.build or ""), count(container, "max_model_len") or 0
        if model(container) == _MODEL and build is not None and length >= _DEEP and _PULL not in build:
            message = f"{container.name} reads prompts of up to {length} tokens without PR {_PULL}"
            yield hit(host, container, ("image",), message, "take the variant pr-43447 and its build")
