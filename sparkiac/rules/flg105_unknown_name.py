"""The vLLM in the image has no parser, format, backend or method of this name.

vLLM's own parser lets most of these names through. The server ends later: when it builds its endpoints, or after the
weights have been loaded. nano_v3, for one, is a file of NVIDIA's that comes with --reasoning-parser-plugin, and no
release has it. Where a plugin is given, its option is not checked.

Of --quantization this is a warning where the checkpoint is of ModelOpt, or nothing is known of it: vLLM takes the
format that such a checkpoint says of itself, whatever the word is. A word that is not read is still better left away.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {tool_call_parser: qwen3}
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
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {tool_call_parser: qwen3_xml}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.hints import nearest
from sparkiac.report import Severity
from sparkiac.rules import deployments, release
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.rules.release import Found
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="FLG105",
    slug="unknown-name",
    severity=Severity.ERROR,
    sources=release.SOURCES,
    since="0.1.0",
)

_OF_CHECKPOINTS: Final = dict.fromkeys(
    ("nvfp4", "fp4", "w4a16", "w4a4", "w8a8", "int4", "int8"),
    "that is a format of weights: write modelopt for NVIDIA's checkpoints, and nothing for others",
)
"""What is taken for the word that vLLM wants."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find names that are not among those of the release."""
    for found in release.faults(plan, "name"):
        fault = found.fault
        has = found.release.elsewhere(release.with_name(fault.registry, fault.wrong))
        message = f"{found.name} {fault.said} in {found.release.title}{has}"
        hint = _OF_CHECKPOINTS.get(fault.wrong.lower()) or nearest(fault.wrong, fault.known)
        yield found.hit(message, hint, _weight(found))


def _weight(found: Found) -> Severity | None:
    """Make it a warning where the checkpoint may say another format than the word does."""
    if found.fault.registry != "quantization":
        return None
    known = deployments.known(found.container)
    return Severity.WARNING if known is None or known.checkpoint in {None, "modelopt"} else None
