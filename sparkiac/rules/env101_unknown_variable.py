"""The vLLM in the image has no such VLLM_ variable.

The setting has no effect. Up to 0.16.0 vLLM logs nothing; from 0.17.1 on it warns at start, and with
`fail_on_environ_validation` it exits. Variables differ between releases: VLLM_ATTENTION_BACKEND was removed in 0.15 and
became the option --attention-backend. Name a variable of a fork or a patch under `extra_flags:`, with the reason. If
the release is unknown, only variables that no release has are reported.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    env: {VLLM_ATTENTION_BACKEND: TRITON_ATTN}
```

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {fail_on_environ_validation: true}
    env: {VLLM_ATTENTION_BACKEND: TRITON_ATTN}
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
    set: {attention_backend: triton_attn}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.report import Severity
from sparkiac.report.hints import closest
from sparkiac.rules import release
from sparkiac.rules.release import Release
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "parser"), *release.SOURCES)

_OF_ANOTHER_RULE: Final = "VLLM_USE_V1"
"""The variable of FLG019."""
_REPLACED_BY: Final = dict.fromkeys(
    (
        *("VLLM_MXFP4_BACKEND", "VLLM_FP8_MOE_BACKEND", "VLLM_FLASHINFER_MOE_BACKEND"),
        *("VLLM_USE_FLASHINFER_MOE_FP4", "VLLM_USE_FLASHINFER_MOE_FP8"),
    ),
    "moe_backend",
)
"""Variable of older releases and patched builds → the option that replaces it."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find variables that the release does not declare; if it is unknown, those that no release declares."""
    for host, container in release.servers(plan):
        added = container.image.tag.added.variables if container.image.tag else ()
        for name in sorted({*container.command.env} - {*added, *container.server.extra.variables, _OF_ANOTHER_RULE}):
            if name.startswith("VLLM_"):
                yield from _hits(host, container, name)


def _hits(host: HostPlan, container: Container, name: str) -> Iterator[Hit]:
    found, knows = release.known(container), release.with_variable(name)
    if found is None:
        if not release.anywhere(knows):
            message = f"{name} of {container.name} is not a variable of any known vLLM release"
            hint = _slip(name, release.variables())
            yield hit(host, container, ("env", name), message, hint, Severity.WARNING)._replace(at_key=True)
    elif not found.has(knows):
        how = "logs a warning" if _EXITS in found.interface.spellings else "logs nothing"
        has = release.releases_with(knows)
        message = f"{name} of {container.name} has no effect: {found.title} does not read it and {how}; {has}"
        made = hit(host, container, ("env", name), message, _hint(name, found), _weight(container, found))
        yield made._replace(at_key=True)


def _hint(name: str, found: Release) -> str:
    """Return what to use instead: the option that replaced it, an image of a release that has it, or a similar name."""
    option = _REPLACED_BY.get(name, name.removeprefix("VLLM_").lower())
    if release.with_option(option)(found.interface):
        return f"replace it with `set: {{{option}: …}}`"
    if release.anywhere(release.with_variable(name)):
        return "remove it, or use an image with such a release"
    return _slip(name, found.interface.variables)


def _slip(name: str, known: Iterable[str]) -> str:
    return closest(name, known) or "remove it, or name a variable of a fork or a patch under `extra_flags:`"


def _weight(container: Container, found: Release) -> Severity | None:
    """Return warning unless vLLM is set to exit on an unknown variable."""
    ends = container.server.options.get("fail_on_environ_validation") is True
    return None if ends and found.exact else Severity.WARNING


_EXITS: Final = "--fail-on-environ-validation"
"""The option that was added together with the warning, in 0.17.1."""
