"""The engine does not support this method of speculative decoding.

`speculative` uses vLLM's names for all engines, and sparkiac writes each method in the engine's own form if the engine
has it. Of the keys, all engines have the method, the drafter and the number of tokens; the others are vLLM's. Which
methods exist depends on the release: SGLang has had DSpark since 0.5.16. A method that the release lacks is an error if
an upstream tag names a release that was read, and a warning otherwise. llama.cpp has five kinds of n-gram speculation,
chosen by `set.spec_type`; TensorRT-LLM reads the method from a YAML file, named by `set.config`.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    speculative: {method: suffix, num_speculative_tokens: 8}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    speculative: {method: ngram, num_speculative_tokens: 8}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.engines.engine import TRANSLATED
from sparkiac.plan import Plan
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, hit, rule
from sparkiac.rules.serverrelease import ServerRelease

RULE: Final = rule(
    __name__,
    ("fails", "parser"),
    "SGLang's released wheels: server_args.py, speculative/spec_info.py",
    "llama.cpp's sources: common/arg.cpp, common/speculative.cpp",
    "github.com/NVIDIA/TensorRT-LLM: llm_args.py",
    "github.com/AEON-7/vllm-dflash: README.md",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find methods that the engine, or its release in the image, does not support."""
    for host, container in plan.containers:
        engine, chosen = engines.named(container.server.engine), container.server.speculative or {}
        if engine.interfaces or not chosen:
            continue
        runs = f"{container.name} runs on {engine.title}, which does not support"
        if chosen["method"] not in engine.speculative:
            hint = f"supported: {', '.join(sorted(engine.speculative)) or 'none under `speculative`'}"
            yield hit(host, container, ("speculative",), f"{runs} the method {chosen['method']}", hint)
        for key in sorted(chosen.keys() - TRANSLATED):
            hint = "set the engine's own option under `set`"
            found = hit(host, container, ("speculative",), f"{runs} the key {key} of `speculative`", hint)
            yield found._replace(inside=(key,), at_key=True)
    for server in serverrelease.servers(plan):
        yield from _release_hits(server)


def _release_hits(server: ServerRelease) -> Iterator[Hit]:
    option, chosen = server.engine.method_option or "", server.container.server.speculative or {}
    word = server.engine.methods.get(chosen.get("method", ""))
    if word is not None and not any(word in each.choices for each in server.takes(option)):
        held = server.table.options[option]
        message = (
            f"{server.container.name} runs on {server.title}, which does not support the method {chosen['method']}"
        )
        message += server.elsewhere(lambda release: word in held[release].choices)
        hint = "use another method, or an image with such a release"
        yield server.hit(("speculative",), message, hint)
