"""An option is not among those that the engine has.

The server ends at once on an option that it does not know. SGLang, llama.cpp, TensorRT-LLM and AEON-7's images each
have a table of options, in the spelling of the inventory: snake_case, whatever the server itself writes. vLLM has none
here, for its options depend on the release. Model, names, drafter and key are said by keys of the inventory, which the
checks read as well. Where your image is newer than the table, allow the rule with the version.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
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
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    set: {context_length: 65536}
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
    for name in container.server.options:
        if engine.options is not None and name not in engine.options:
            message = f"{name} is no option that {container.name} can set on {engine.title}"
            leaf = (*container.path, host, "set", name)
            yield Hit((*container.path, "set", name), message, _hint(engine, name), leaf=leaf, host=host)


def _hint(engine: Engine, name: str) -> str:
    if name in engine.elsewhere:
        return f"the key `{engine.elsewhere[name]}:` of the deployment says it"
    return nearest(name, engine.options or ())
