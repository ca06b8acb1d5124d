"""The vLLM in the image has no such option.

The server exits at once on an unknown option. Options are added and removed: --swap-space was removed in 0.18, and
--moe-backend was added in 0.17. The options are read from the sources of the release in the image. For an upstream
release and for an image whose interface `sparkiac images capture` recorded, this is an error. For a vendor's or private
build it is a warning: its maker may have added options. If the release is unknown, it is a warning, and only for an
option that no known release has. vLLM accepts a shortened name as long as only one option starts with it. Name an
option of a fork or a patch under `extra_flags:`, with the reason.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {swap_space: 4}
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
    set: {kv_offloading_size: 4}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.report import Severity
from sparkiac.report.hints import closest, nearest
from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, "fails", "parser", *release.SOURCES)
_ELSEWHERE: Final = {
    "mem_fraction_static": "gpu_memory_utilization",
    "context_length": "max_model_len",
    "ctx_size": "max_model_len",
    "tp_size": "tensor_parallel_size",
    "tp": "tensor_parallel_size",
    "max_running_requests": "max_num_seqs",
    "parallel": "max_num_seqs",
    "model_path": "the key `model:` of the deployment",
    "alias": "the key `served_names:` of the deployment",
}
"""Option of SGLang or llama.cpp → its equivalent here."""
_OF_ANOTHER_RULE: Final = "speculative_disable_by_batch_size"
"""The option of SPD014."""


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find options that the release lacks; if it is unknown, those that no release has."""
    for found in release.of_kinds(faults, "option", "short"):
        if found.fault.kind == "short":
            message = f"{found.name} {found.fault.problem} in {found.release.title}"
            yield found.hit(message, "write the full name", Severity.WARNING)
        elif found.fault.option != _OF_ANOTHER_RULE:
            has = found.release.elsewhere(release.with_option(found.fault.wrong))
            yield found.hit(f"{found.name} is not an option of {found.release.title}{has}", _hint(found))


def _hint(found: ServerFault) -> str:
    fault = found.fault
    if fault.option in _ELSEWHERE:
        return f"this is another engine's name: vLLM calls it {_ELSEWHERE[fault.option]}"
    options = [name[2:].replace("-", "_") for name in fault.known if name.startswith("--")]
    if release.anywhere(release.with_option(fault.wrong)):
        other = "remove it, or use an image with such a release"
        return "; ".join(filter(None, (other, closest(fault.option, options))))
    close = nearest(fault.option, options)
    return close if found.release.exact else f"{close}; name an option of a patch under `extra_flags:`"
