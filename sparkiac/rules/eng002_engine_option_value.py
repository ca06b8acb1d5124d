"""An option has a value that the engine does not take.

A switch takes true or false, a number a number, and some options one of a few words. The server ends at once on
anything else. In YAML 1.2, which inventories are written in, `on` and `off` are words, and `true` is not one of them:
llama.cpp's flash_attn takes "on", "off" or "auto". This is an error only where the image's tag names the release of the
table of options, such as lmsysorg/sglang:v0.5.23; for any other image it is a warning.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    set: {schedule_policy: fifo}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    set: {schedule_policy: fcfs}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines
from sparkiac.hints import nearest
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.engines import Engine, Option
    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="ENG002",
    slug="engine-option-value",
    severity=Severity.ERROR,
    sources=(
        "docs.sglang.io: Server arguments",
        "github.com/ggml-org/llama.cpp: tools/server/README.md",
        "github.com/NVIDIA/TensorRT-LLM: trtllm-serve.rst",
        "github.com/AEON-7/vllm-dflash: README.md",
    ),
    since="0.1.0",
)
_TYPES: Final = {
    "integer": int,
    "number": int | float,
    "text": str | int | float,
    "switch": bool,
    "json": dict | str,
    "words": tuple | str | int | float,
}
_WORDS: Final = {
    "integer": "a whole number",
    "number": "a number",
    "text": "a text",
    "switch": "true or false",
    "json": "a mapping",
    "words": "a list",
}


def check(plan: Plan) -> Iterator[Hit]:
    """Find values of another kind than the option's, or none of its words."""
    for host in plan.hosts:
        for container in host.containers:
            if container.server.engine is not None:
                yield from _hits(container, engines.named(container.server.engine), host.name)


def _hits(container: Container, engine: Engine, host: str) -> Iterator[Hit]:
    described = engine.describes(container.image.reference)
    for name, value in container.server.options.items():
        option = (engine.options or {}).get(name)
        hint = _hint(option, value)
        if hint is not None:
            certain = described or (option is not None and len(option.choices) == 1)  # the image leaves no choice
            said = f"cannot be {_shown(value)}" if certain else f"is {_shown(value)}, which is not a known value"
            path, leaf = (*container.path, "set", name), (*container.path, host, "set", name)
            severity = None if certain else Severity.WARNING
            yield Hit(path, f"{name} of {container.name} {said}", hint, leaf, host, severity)


def _hint(option: Option | None, value: object) -> str | None:
    """Say what is wanted instead, or nothing where the value is right."""
    if option is None:
        return None
    if isinstance(value, bool) is not (option.kind == "switch") or not isinstance(value, _TYPES[option.kind]):
        return f"write {_WORDS[option.kind]}" + (f": {', '.join(option.choices)}" if option.choices else "")
    if option.choices and str(value) not in option.choices:
        return nearest(str(value), option.choices)
    return None


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
