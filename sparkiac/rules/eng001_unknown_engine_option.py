"""The engine has no such option.

The server exits at once on an unknown option. The options of SGLang and llama.cpp are read from the parsers of their
releases. If an upstream tag names such a release, as lmsysorg/sglang:v0.5.23 or
ghcr.io/ggml-org/llama.cpp:server-cuda-b10405 do, this is an error, and the message names the releases that have the
option. For a release that was not read, it is a warning if the neighbouring releases lack the option. If the release is
unknown, it is a warning, and only for an option that no known release has. TensorRT-LLM and AEON-7's images have one
table of options each, because their releases are unknown. Write options in snake_case, whatever spelling the server
uses. The model, its names, the drafter and the API key have their own keys in the inventory. FLG101 checks vLLM.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {max_model_len: 65536}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {context_length: 65536}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report import Severity
from sparkiac.report.hints import closest, nearest
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, hit, rule
from sparkiac.rules.serverrelease import ServerRelease

RULE: Final = rule(__name__, ("fails", "parser"), *serverrelease.SOURCES)


def check(plan: Plan) -> Iterator[Hit]:
    """Find options that the release lacks, also among those that connect the nodes of a group."""
    for server in serverrelease.servers(plan):
        for name in server.container.server.options:
            key = server.engine.elsewhere.get(server.table.aliases.get(name, name))
            if key is not None:
                message = f"{name} of {server.container.name} cannot be set under `set` for {server.engine.title}"
                yield _hit(server, name, message, f"use the key `{key}:` of the deployment", None)
            elif not server.takes(name) and (name not in server.table.earlier or server.exact):
                yield _hit(server, name, _message(server, name), _hint(server, name), server.severity)


def _hit(server: ServerRelease, name: str, message: str, hint: str, severity: Severity | None) -> Hit:
    return hit(server.host, server.container, ("set", name), message, hint, severity)._replace(at_key=True)


def _message(server: ServerRelease, name: str) -> str:
    if server.table.releases == ("",):
        return f"{name} of {server.container.name} is not a known option of {server.title}"
    has = server.elsewhere(lambda release: server.table.option(name, release) is not None)
    if name in server.table.earlier:
        has = f": releases before {server.table.releases[0]} have it"
    return f"{name} of {server.container.name} is not an option of {server.title}{has}"


def _hint(server: ServerRelease, name: str) -> str:
    if name in server.engine.of_vllm:
        return f"this is vLLM's name: {server.engine.title} calls it {server.engine.of_vllm[name]}"
    names = {each for release in server.releases for each in server.table.names(release)}
    if name in server.table.options or name in server.table.earlier:
        other = "remove it, or use an image with such a release"
        return "; ".join(filter(None, (other, closest(name, names))))
    return nearest(name, names)
