"""The command repeats `vllm serve`, which is already the image's entrypoint.

Upstream vllm/vllm-openai images start with the entrypoint `vllm serve`; NVIDIA's NGC images run the command as it is
written. A command copied from one to the other becomes `vllm serve vllm serve …`, which exits with `unrecognized
arguments: serve`, and a restart policy turns that into a loop. `vllm --version` becomes `vllm serve vllm --version`.
Deployments are not affected: their command is derived from the image. Only a service with its own command can have this
fault.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: container
    image: vllm/vllm-openai@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    command: [vllm, serve, google/gemma-4-26B-A4B-it]
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: container
    image: vllm/vllm-openai@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    command: [google/gemma-4-26B-A4B-it]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sparkiac.plan import Container, Plan
from sparkiac.report import REMOVE, Edit
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "parser"), "vLLM: docker/Dockerfile, ENTRYPOINT", "Spark guide L98-100, L647")
_SERVE: Final = ("vllm", "serve")


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers whose command starts vLLM a second time."""
    for host, container in plan.containers:
        again = _again(container)
        if again:
            message = (
                f"{container.name} would run `vllm serve {again} …`: "
                f"the entrypoint of {container.image.reference} is already `vllm serve`"
            )
            fix = tuple(Edit((*container.path, "command", index), REMOVE) for index in range(len(_SERVE)))
            starts = container.command.words[: len(_SERVE)] == _SERVE
            hint = "start the command with the model"
            yield hit(host, container, ("command",), message, hint, fix=fix if starts else ())


def _again(container: Container) -> str:
    """Return the words that start vLLM a second time; empty if there are none."""
    if sum(pair == _SERVE for pair in pairwise(container.argv)) > 1:
        return "vllm serve"
    named = container.command.words[:1] == _SERVE[:1]
    return "vllm" if named and container.image.entrypoint == _SERVE else ""
