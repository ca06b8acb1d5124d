"""The model is served by its handle, but its sources serve it from a directory.

Its repository contains more than weights: a drafter in its own folder, a loader, or files that the command names by
path. In the hub's cache these have no fixed path that a command could name, so the sources download the repository into
a directory and mount that. The catalog's recipe for the model does so.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: sakamakismile/gemma-4-12b-coder-nvfp4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
```
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from sparkiac import catalog
from sparkiac.plan import Plan
from sparkiac.resolve import catalogued
from sparkiac.rules.deployments import models
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "maker"), "Spark guide L235-243, L258-267, L720-726")
_DIRECTORY: Final = "model_path"


def check(plan: Plan) -> Iterator[Hit]:
    """Find models that are served by handle although all catalog entries serve them from a directory."""
    for host, container in models(plan):
        model = container.server.model
        recipe = served_from_directory(model) if model else None
        if recipe is not None and model not in container.weights.directories:
            message = f"{container.name} loads {model} by its handle; {recipe} serves it from a directory"
            hint = f"use the recipe {recipe}, or set model_path and keep the model in <model_store>/{model}"
            yield Hit((*container.path, "model"), message, hint, host=host.name)


@cache
def served_from_directory(model: str) -> str | None:
    """Return the first catalog entry that serves a model, if all such entries serve it from a directory.

    Entries are parsed only if the text of one names both.
    """
    named = set(catalog.holding(f"model: {model}")) & set(catalog.holding(f"{_DIRECTORY}:"))
    serving = tuple(catalogued.serving(model)) if named else ()
    by_handle = [each for each in serving if _DIRECTORY not in each.values]
    return serving[0].name if serving and not by_handle else None
