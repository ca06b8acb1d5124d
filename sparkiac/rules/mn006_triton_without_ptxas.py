"""Triton compiles kernels in an image that has its compiler elsewhere.

NGC 26.04 has ptxas under /usr/local/cuda, and its Triton looks for it in a directory that does not exist: the first
request fails (SM121 reference L48-52, L76). The cure is a link that is made before the server starts, which needs a
writable file system; the fragment sm121-ngc-2604 has it. The dual-Spark post (L33-58) and the Spark guide (L84-89) run
the image without the link, and without choosing Triton for attention.

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
    port: 8001
    set: {attention_backend: TRITON_ATTN}
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
    port: 8001
    set: {attention_backend: TRITON_ATTN}
    container:
      read_only: false
      prelude:
        - [mkdir, -p, /usr/local/lib/python3.12/dist-packages/triton/backends/nvidia/bin]
        - [ln, -sf, /usr/local/cuda/bin/ptxas, /usr/local/lib/python3.12/dist-packages/triton/backends/nvidia/bin/ptxas]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, image, option
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.rule import Hit
RULE: Final = Rule(
    code="MN006",
    slug="triton-without-ptxas",
    severity=Severity.ERROR,
    sources=(
        "SM121 reference L48-52, L76",
        "dual-Spark post L33-58",
        "Spark guide L84-89",
    ),
    since="0.1.0",
)
_IMAGE: Final = "nvcr.io/nvidia/vllm:26.04-py3"
_OPTIONS: Final = ("attention_backend", "moe_backend")


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments that choose Triton in that image without a link."""
    for host, container in deployments(plan):
        linked = any("ptxas" in word for command in container.command.pre_start for word in command)
        chosen = next((name for name in _OPTIONS if option(container, name).startswith("triton")), None)
        if image(container) == _IMAGE and chosen is not None and not linked:
            message = f"{container.name} compiles with Triton, which does not find ptxas in {_IMAGE}"
            hint = "lay the fragment sm121-ngc-2604 over it, or link ptxas by container.prelude"
            yield hit(host, container, ("set", chosen), message, hint)
