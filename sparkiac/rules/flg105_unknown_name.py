"""The vLLM in the image has no parser, format, backend or method of this name.

vLLM's argument parser accepts most of these names. The server exits later: when it builds its endpoints, or after it
has loaded the weights. For example, nano_v3 is a file from NVIDIA that is loaded with --reasoning-parser-plugin, and no
release contains it. If a plugin is set, its option is not checked. For a vendor's or private build it is a warning,
because its maker may have added the name; but a wrong spelling that no release has, such as qwen3_codr, is an error.

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

from sparkiac.engines.vllm_check import Fault
from sparkiac.plan import facts
from sparkiac.report import Severity
from sparkiac.report.hints import nearest
from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "source"), *release.SOURCES)
_QUANTIZATION: Final = "quantization"
_OTHERS: Final = {"kv_cache_dtypes": {"fp4": "nvfp4", "bf16": "bfloat16", "fp16": "float16"}}
"""Kind of names → other spelling → vLLM's name."""
_OF_CHECKPOINTS: Final = dict.fromkeys(
    ("nvfp4", "fp4", "w4a16", "w4a4", "w8a8", "int4", "int8"),
    "this is a format of weights: write modelopt for NVIDIA's checkpoints, and remove it for others",
)
"""Formats of weights that are mistaken for vLLM's names."""


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find names that the release does not have."""
    for found in release.of_kinds(faults, "name"):
        fault = found.fault
        knows, others = release.with_name(fault.registry, fault.wrong), _OTHERS.get(fault.registry, {})
        message = f"{found.name} {fault.problem} in {found.release.title}{found.release.elsewhere(knows)}"
        wrong = release.misspelt(fault.wrong, fault.known, others) and not release.anywhere(knows)
        yield found.hit(message, _hint(fault, others.get(fault.wrong)), _weight(found), anywhere=wrong)


def _hint(fault: Fault, meant: str | None) -> str:
    if meant in fault.known:
        return f"vLLM calls it {meant}"
    of_weights = _OF_CHECKPOINTS.get(fault.wrong.lower()) if fault.registry == _QUANTIZATION else None
    return of_weights or nearest(fault.wrong, fault.known)


def _weight(found: ServerFault) -> Severity | None:
    """Return warning if vLLM may read the format from the checkpoint instead of the option."""
    if found.fault.registry != _QUANTIZATION:
        return None
    known = facts.known(found.container.server)
    return Severity.WARNING if known is None or known.checkpoint in {None, "modelopt"} else None
