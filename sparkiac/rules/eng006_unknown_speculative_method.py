"""The engine has no such method of speculative decoding.

`speculative` uses vLLM's names for all engines, and each engine writes them in its own form, as far as it has the
method. Methods come with releases: SGLang has DSpark since 0.5.16. A method that the release lacks is an error where
upstream's tag names a release that was read, and otherwise a warning. llama.cpp has five kinds of n-gram guessing,
which `set.spec_type` chooses; TensorRT-LLM takes the method from a YAML file, which `set.config` names.

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
    speculative: {method: suffix, num_speculative_tokens: 8}
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
    speculative: {method: ngram, num_speculative_tokens: 8}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines
from sparkiac.report import Severity
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.serverrelease import Server

RULE: Final = Rule(
    code="ENG006",
    slug="unknown-speculative-method",
    severity=Severity.ERROR,
    sources=(
        "SGLang's released wheels: server_args.py, speculative/spec_info.py",
        "llama.cpp's sources: common/arg.cpp, common/speculative.cpp",
        "github.com/NVIDIA/TensorRT-LLM: llm_args.py",
        "github.com/AEON-7/vllm-dflash: README.md",
    ),
    since="0.1.0",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find methods that the deployment's engine, or the release of it in the image, does not have."""
    for host in plan.hosts:
        for container in host.containers:
            if container.server.engine is not None and container.server.speculative is not None:
                engine, method = engines.named(container.server.engine), container.server.speculative["method"]
                if method not in engine.speculative:
                    message = f"{engine.title}, which {container.name} runs on, has no method {method}"
                    hint = f"it has: {', '.join(sorted(engine.speculative)) or 'none that `speculative` can say'}"
                    leaf = (*container.path, host.name, "speculative")
                    yield Hit((*container.path, "speculative"), message, hint, leaf=leaf, host=host.name)
    for server in serverrelease.servers(plan):
        yield from _of_a_release(server)


def _of_a_release(server: Server) -> Iterator[Hit]:
    option, chosen = server.engine.method_option or "", server.container.server.speculative or {}
    word = server.engine.methods.get(chosen.get("method", ""))
    if word is not None and not any(word in each.choices for each in server.takes(option)):
        held = server.table.options[option]
        message = f"{server.title}, which {server.container.name} runs on, has no method {chosen['method']}"
        message += server.elsewhere(lambda release: word in held[release].choices)
        path, host = server.container.path, server.host.name
        hint, leaf = "take another method, or an image of such a release", (*path, host, "speculative")
        yield Hit((*path, "speculative"), message, hint, leaf, host, server.severity)
