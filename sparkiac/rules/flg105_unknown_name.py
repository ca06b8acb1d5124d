"""The vLLM in the image has no parser, format, backend or method of this name.

vLLM's argument parser accepts most of these names. The server exits later: when it builds its endpoints, or after it
has loaded the weights. For example, nano_v3 is a file from NVIDIA that is loaded with --reasoning-parser-plugin, and no
release contains it. If a plugin is set, its option is not checked.

For --quantization this is a warning if the checkpoint is a ModelOpt one or unknown: vLLM reads the format from such a
checkpoint, whatever the option says. It is still better to remove a value that is not read.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {tool_call_parser: qwen3}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {tool_call_parser: qwen3_xml}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.plan import facts
from sparkiac.report import Severity
from sparkiac.report.hints import nearest
from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, "fails", "source", *release.SOURCES)

_OF_CHECKPOINTS: Final = dict.fromkeys(
    ("nvfp4", "fp4", "w4a16", "w4a4", "w8a8", "int4", "int8"),
    "this is a format of weights: write modelopt for NVIDIA's checkpoints, and remove it for others",
)
"""Formats of weights that are mistaken for vLLM's names."""


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find names that the release does not have."""
    for found in release.of_kinds(faults, "name"):
        fault = found.fault
        has = found.release.elsewhere(release.with_name(fault.registry, fault.wrong))
        message = f"{found.name} {fault.problem} in {found.release.title}{has}"
        hint = _OF_CHECKPOINTS.get(fault.wrong.lower()) or nearest(fault.wrong, fault.known)
        yield found.hit(message, hint, _weight(found))


def _weight(found: ServerFault) -> Severity | None:
    """Return warning if vLLM may read the format from the checkpoint instead of the option."""
    if found.fault.registry != "quantization":
        return None
    known = facts.known(found.container.server)
    return Severity.WARNING if known is None or known.checkpoint in {None, "modelopt"} else None
