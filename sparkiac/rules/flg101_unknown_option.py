"""The vLLM in the image has no such option.

The server exits at once on an unknown option. Options are added and removed: --swap-space was removed in 0.18, and
--moe-backend was added in 0.17. The options are read from the sources of the release in the image. For an upstream
release and for an image whose interface `sparkiac images capture` recorded, this is an error. For a vendor's or private
build it is a warning, because its maker may have added options; but a wrong spelling that no release has, such as
max_model_length or gpu_memory_utilisation, is an error. If the release is unknown, it is a warning, and only for an
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

RULE: Final = rule(__name__, ("fails", "parser"), *release.SOURCES)
_LENGTHS: Final = ("max_model_length", "max_context_length", "max_seq_len", "context_length", "ctx_size")
_REQUESTS: Final = ("max_sequences", "max_batch_size", "max_running_requests", "parallel")
_CALLED: Final = {
    **dict.fromkeys(_LENGTHS, "max_model_len"),
    **dict.fromkeys(_REQUESTS, "max_num_seqs"),
    **dict.fromkeys(("gpu_mem_util", "gpu_memory_fraction", "mem_fraction_static"), "gpu_memory_utilization"),
    **dict.fromkeys(("tp", "tp_size"), "tensor_parallel_size"),
    "kv_cache_type": "kv_cache_dtype",
    "model_path": "the key `model:` of the deployment",
    "alias": "the key `served_names:` of the deployment",
}
"""Other spelling, and option of another engine → what vLLM calls it."""
_OF_ANOTHER_RULE: Final = "speculative_disable_by_batch_size"
"""The option of SPD014."""


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find options that the release lacks; if it is unknown, those that no release has."""
    for found in release.of_kinds(faults, "option", "short"):
        if found.fault.kind == "short":
            message = f"{found.name} {found.fault.problem} in {found.release.title}"
            yield found.hit(message, "write the full name", Severity.WARNING)
        elif found.fault.option != _OF_ANOTHER_RULE:
            knows = release.with_option(found.fault.wrong)
            message = f"{found.name} is not an option of {found.release.title}{found.release.elsewhere(knows)}"
            wrong = release.misspelt(found.fault.option, _options(found), _CALLED) and not release.anywhere(knows)
            yield found.hit(message, _hint(found), anywhere=wrong)


def _hint(found: ServerFault) -> str:
    fault = found.fault
    if fault.option in _CALLED:
        return f"vLLM calls it {_CALLED[fault.option]}"
    options = _options(found)
    if release.anywhere(release.with_option(fault.wrong)):
        other = "remove it, or use an image with such a release"
        return "; ".join(filter(None, (other, closest(fault.option, options))))
    close = nearest(fault.option, options)
    return close if found.release.exact else f"{close}; name an option of a patch under `extra_flags:`"


def _options(found: ServerFault) -> list[str]:
    return [name[2:].replace("-", "_") for name in found.fault.known if name.startswith("--")]
