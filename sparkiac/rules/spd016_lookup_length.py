"""Drafting from former text guesses another number of tokens than sources run.

`ngram` and `suffix` cost nothing and gain 1.5 to 2 times where the output repeats the input, as in edits or JSON; on
new prose they gain nothing. Usual are 3 to 5 tokens for `ngram` with runs of 2 to 5, and 8 for `suffix`.

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
    speculative: {method: ngram, num_speculative_tokens: 16}
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
    speculative: {method: ngram, num_speculative_tokens: 4, prompt_lookup_min: 2, prompt_lookup_max: 5}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="SPD016",
    slug="lookup-length",
    severity=Severity.INFO,
    sources=("Spark guide L665, L672-677, L692-699",),
    since="0.1.0",
)
_USUAL: Final = {"ngram": (3, 4, 5), "suffix": (8,)}


def check(plan: Plan) -> Iterator[Hit]:
    """Find numbers that no source runs."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    chosen = container.server.speculative or {}
    tokens, usual = chosen.get("num_speculative_tokens"), _USUAL.get(chosen.get("method", ""), ())
    if usual and tokens not in {None, *usual}:
        words = " to ".join(str(number) for number in sorted({usual[0], usual[-1]}))
        message = f"{container.name} guesses {tokens} tokens in each step; {chosen['method']} usually runs {words}"
        yield hit(host, container, ("speculative",), message, f"set num_speculative_tokens to {words}")
