"""The build of vLLM for DeepSeek-V4 lacks the fix that frees memory while loading.

While the experts are repacked the loader keeps what it no longer needs, and both machines run out of memory shortly
after the start, or hang (DeepSeek-V4 thread L17-25, L331). PR 41834 clears the cache, and so does the mod
fix-ds4-gpu-cache; a base that has `del` and `empty_cache` in mxfp4.py already needs neither (L348-349). The commit
that the catalog pins has served; of any other one nothing is known.

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
    mods: [{path: mods/fix-ds4-gpu-cache}]
```
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan, PlannedBuild
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MEM020",
    slug="loader-keeps-memory",
    severity=Severity.ERROR,
    sources=("DeepSeek-V4 thread L17-25, L189, L331, L348-349",),
    since="0.1.0",
)
_MODEL: Final = "deepseek-ai/deepseek-v4-flash"
_FIXES: Final = ("41834", "fix-ds4-gpu-cache")


def check(plan: Plan) -> Iterator[Hit]:
    """Find builds that serve the model and do not name the fix."""
    builds = {build.name: build for build in plan.builds}
    for host, container in deployments(plan):
        build = builds.get(container.image.build or "")
        if build is not None and model(container) == _MODEL and not _served(build) and not _fixed(build):
            message = f"{container.name} runs the build {build.name}, which names neither PR 41834 nor its mod"
            hint = "add the mod fix-ds4-gpu-cache or the pull request to the build, or read its mxfp4.py and allow it"
            yield hit(host, container, ("image",), message, hint)


def _fixed(build: PlannedBuild) -> bool:
    said = json.dumps([build.spec.get(key) for key in ("program", "mods", "pull_requests", "cherry_picks")])
    return any(fix in said for fix in _FIXES)


def _served(build: PlannedBuild) -> bool:
    """Whether the build has the catalog's own commit, which a source ran."""
    found = catalog.build(build.name)
    known = found.value.commit if found and found.value else None
    return known is not None and build.spec.get("commit") == known
