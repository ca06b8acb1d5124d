"""DFlash drafts for quantised weights under stock vLLM.

With NVFP4 or FP8 weights stock vLLM accepts the first few of 15 tokens only, and is slower than without. Take a BF16
target, or a build for sm_121 that was made for it, such as AEON-7's images. Spark guide's table ticks the combination
all the same: who tries it looks at the acceptance, and allows this with the figure.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash, model: z-lab/Qwen3.6-35B-A3B-DFlash, num_speculative_tokens: 15}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: Qwen/Qwen3.6-35B-A3B
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    speculative: {method: dflash}
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, known
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD006",
    slug="dflash-on-quantised-target",
    severity=Severity.ERROR,
    sources=("Spark guide L163-164, L182, L685, L687-688",),
    since="0.1.0",
)
_STOCK: Final = {"vllm/vllm-openai", "nvcr.io/nvidia/vllm"}
_QUANTISED: Final = re.compile("NVFP4|MXFP4|FP8(?! AT LOAD)|INT[48]|W[48]A|AWQ|GPTQ|MODELOPT|COMPRESSED")


def check(plan: Plan) -> Iterator[Hit]:
    """Find DFlash for quantised weights in stock images."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    facts, repository = known(container), container.image.reference.partition(":")[0].partition("@")[0]
    server = container.server
    words = f"{facts.format if facts else ''} {server.model} {server.options.get('quantization', '')}".upper()
    drafts = (container.server.speculative or {}).get("method") == "dflash"
    if drafts and repository in _STOCK and _QUANTISED.search(words):
        message = f"{container.name} drafts with DFlash for quantised weights, of which {repository} accepts few tokens"
        hint = "choose a BF16 target, or an sm_121 build with DFlash such as ghcr.io/aeon-7/vllm-dflash"
        yield hit(host, container, ("speculative",), message, hint)
