"""An option is not among those that the engine has.

The server ends at once on an option that it does not know. SGLang, llama.cpp, TensorRT-LLM and AEON-7's images each
have a table of options, in the spelling of the inventory: snake_case, whatever the server itself writes. This is an
error only where the image's tag names the release of the table, such as lmsysorg/sglang:v0.5.23. For any other image it
is a warning, because other releases take other options; options that an older release is known to take are left alone.
Model, names, drafter and key have keys of their own in the inventory. FLG101 checks vLLM, release by release.

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
    set: {max_model_len: 65536}
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
    set: {context_length: 65536}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines
from sparkiac.hints import nearest
from sparkiac.report import Severity
from sparkiac.rules.kernels import image
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.engines import Engine
    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="ENG001",
    slug="unknown-engine-option",
    severity=Severity.ERROR,
    sources=(
        "docs.sglang.io: Server arguments",
        "github.com/ggml-org/llama.cpp: tools/server/README.md",
        "github.com/NVIDIA/TensorRT-LLM: trtllm-serve.rst",
        "github.com/AEON-7/vllm-dflash: README.md",
    ),
    since="0.1.0",
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find options that the engine's table lacks. What a group adds to its options is the engine's own business."""
    for host in plan.hosts:
        for container in host.containers:
            if container.server.engine is not None and container.server.node is None:
                yield from _hits(container, engines.named(container.server.engine), host.name)


def _hits(container: Container, engine: Engine, host: str) -> Iterator[Hit]:
    exact = engine.describes(container.image.reference)
    known = {*(engine.options or ()), *(() if exact else engine.other_options)}
    for name in container.server.options if engine.options is not None else ():
        if name not in known:
            path, leaf = (*container.path, "set", name), (*container.path, host, "set", name)
            message, hint = _said(container, engine, name)
            severity = None if exact or name in engine.elsewhere else Severity.WARNING
            yield Hit(path, message, hint, leaf, host, severity, at_key=True)


def _said(container: Container, engine: Engine, name: str) -> tuple[str, str]:
    """Give message and hint."""
    if name in engine.elsewhere:
        key = engine.elsewhere[name]
        return f"{container.name} cannot set {name} on {engine.title}", f"use the key `{key}:` of the deployment"
    hint = nearest(name, engine.options or ())
    if engine.describes(container.image.reference):
        return f"{name} of {container.name} is not an option of {engine.title} in {image(container)}", hint
    return f"{name} of {container.name} is not a known option of {engine.title}", hint
