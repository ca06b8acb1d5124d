"""More requests may run at once than suits one person who waits for an answer.

Decoding is bound by memory bandwidth, which all running requests share: each one gets slower. For one or a few people 1
to 4 is a good start. Serving many is another matter: Spark guide measured 92 tok/s in total for Gemma-4-31B at 16
requests where one had 6. `max_num_seqs` is a limit and costs no speed while few requests run. A value that the recipe
was tested with, or that `workload` asks for, is not questioned.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_num_seqs: 16}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {max_num_seqs: 4}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.readings import count, tested
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG020",
    slug="many-sequences",
    severity=Severity.INFO,
    sources=(
        "Spark guide L27-28, L35, L294, L303, L330, L732",
        "vLLM blog L8, L42",
        "DeepSeek-V4 thread L264, L317, L380",
    ),
    since="0.1.0",
)
_MOST: Final = 4
"""Requests at once that suit interactive use."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find more than four sequences, and than the recipe has."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    number, own = count(container, "max_num_seqs") or 0, tested(container, "max_num_seqs") or 0
    most = max(_MOST, own, container.server.workload.users if container.server.workload else 0)
    if number > most:
        message = f"{container.name} runs up to {number} requests at once; for interactive use {most} is a good start"
        hint = f"set max_num_seqs to {most} or less, or workload.users to the number of people it serves at once"
        yield hit(host, container, ("set", "max_num_seqs"), message, hint)
