"""DFlash drafts for quantised weights under stock vLLM.

Spark guide saw stock vLLM accept only the first few of 15 tokens with NVFP4 or FP8 weights (L163, L687); its own table
ticks the combination all the same (L685). Others measured on DGX Spark that a drafter for BF16 loses some acceptance
and still gains speed (https://github.com/Avarok-Cybersecurity/atlas/pull/218: 4.6 of 15 with NVFP4, 5.2 with FP8;
https://github.com/0xSero/local-ai-registry/pull/5). Look at the acceptance in the server's log.

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
    severity=Severity.INFO,
    sources=(
        "Spark guide L163-164, L182, L685, L687-688",
        "https://github.com/Avarok-Cybersecurity/atlas/pull/218",
        "https://github.com/0xSero/local-ai-registry/pull/5",
    ),
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
        message = f"{container.name} drafts with DFlash for quantised weights, for which fewer tokens are accepted"
        hint = "look at the acceptance in the server's log; if it is slower than without, remove `speculative`"
        yield hit(host, container, ("speculative",), message, hint)
