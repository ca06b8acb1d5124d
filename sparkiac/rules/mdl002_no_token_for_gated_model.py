"""Hosts cannot download a gated or private model or extra file, because the inventory names no token.

The model hub gives a gated repository only to accounts that accepted its terms, and a private one only to accounts with
access. `sparkiac lock` records both, with the token of your own machine. Hosts do not use that token: `hub.api_key` of
the inventory names the secret with theirs, and `sparkiac secrets new` lists it. Without it the download ends with HTTP
401. It is a warning, because a host that already has the files of the commit downloads nothing. It is unknown what a
mirror (`hub.url`) asks for.

The lock of both examples:

```yaml
version: 1
images: {}
models:
  example/model:
    commit: "1111111111111111111111111111111111111111"
    gated: true
    files:
      config.json: {size_bytes: 7, sha256: "1111111111111111111111111111111111111111111111111111111111111111"}
```

Bad, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01}
```

Good, on one Spark:

```yaml
hub: {api_key: {secret: hub_token}}
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "maker"), "https://huggingface.co/docs/hub/models-gated")
_HINT: Final = "add `hub: {api_key: {secret: hub_token}}`, and put the token into the file of `sparkiac secrets new`"


def check(plan: Plan) -> Iterator[Hit]:
    """Find models and extra files that hosts can download only with a token, if the inventory names none."""
    if plan.hub.lacks_token:
        yield from _models(plan)
        yield from _files(plan)


def _models(plan: Plan) -> Iterator[Hit]:
    for model in plan.restricted:
        host, container = model.users[0]
        drafts = (container.server.speculative or {}).get("model") == model.repository.model
        message = f"{model.demand}, and the inventory names none"
        yield hit(host, container, ("speculative" if drafts else "model",), message, _HINT)


def _files(plan: Plan) -> Iterator[Hit]:
    for host, container in plan.containers:
        for file in container.storage.files:
            if file.needs_token:
                message = (
                    f"{file.url} is gated or private: to download it, {host.name} must send a token, and the inventory"
                )
                path = ("container", "files", file.target)
                yield hit(host, container, path, f"{message} names none", _HINT)
