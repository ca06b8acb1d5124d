"""The command of a service on NVIDIA's vLLM image names a model but no program.

The entrypoint of nvcr.io/nvidia/vllm runs its arguments as a command. If the command starts with the model, as
vllm/vllm-openai expects it, the image tries to run a program of that name. Deployments are not affected: their command
is derived from the image. Write `vllm`, `serve` before the model.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: container
    image: nvcr.io/nvidia/vllm@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    command: [google/gemma-4-26B-A4B-it]
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  chat:
    kind: container
    image: nvcr.io/nvidia/vllm@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    command: [vllm, serve, google/gemma-4-26B-A4B-it]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "format"), "Spark guide L100, L647", "dual-Spark post L43-44")
_REPOSITORY: Final = "nvidia/vllm"


def check(plan: Plan) -> Iterator[Hit]:
    """Find containers of pass-through vLLM images whose first word is a model or an option."""
    for host, container in plan.containers:
        if container.image.repository.endswith(_REPOSITORY) and _no_program(container.command.words[:1]):
            image, word = container.image.short, container.command.words[0]
            message = f"{container.name} would run {word} as a program in {image}"
            yield hit(host, container, ("command",), message, "start the command with `vllm`, `serve`")


def _no_program(words: tuple[str, ...]) -> bool:
    """Return whether the first word, if there is one, is an option or a handle such as google/gemma-4-26B-A4B-it."""
    return any(word.startswith("-") or ("/" in word[1:] and not word.startswith("/")) for word in words)
