"""The vLLM in the image has no such option.

The server ends at once on an option that it does not know. Options come and go: --swap-space went with 0.18, and
--moe-backend came with 0.17. What is said here is read from the sources of the release in the image. Where the image
is a vendor's build or a moving tag, the nearest release stands for it, and this is a warning; where nobody knows the
release, only what no release has is named. A beginning that one option alone has is taken by vLLM, until another option
begins like it. An option of a fork or a patch is named under `extra_flags:`, with the reason.

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
    set: {swap_space: 4}
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
    set: {kv_offloading_size: 4}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.hints import closest
from sparkiac.report import Severity
from sparkiac.rules import release
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.engines.vllm_check import Fault
    from sparkiac.plan import Container, Plan

RULE: Final = Rule(
    code="FLG101",
    slug="unknown-option",
    severity=Severity.ERROR,
    sources=release.SOURCES,
    since="0.1.0",
)
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
"""Option of SGLang or llama.cpp → what says the same here."""
_OF_ANOTHER_RULE: Final = "speculative_disable_by_batch_size"
"""The option that SPD014 speaks of."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find options that the release lacks, and those that no release has where it is not known."""
    for found in release.faults(plan, "option", "short"):
        if found.fault.kind == "short":
            message = f"{found.name} {found.fault.said} in {found.release.title}"
            yield found.hit(message, "write the whole name", Severity.WARNING)
        elif found.fault.option != _OF_ANOTHER_RULE:
            has = release.having(release.with_option(found.fault.wrong))
            yield found.hit(f"{found.name} is no option of {found.release.title}: {has}", _hint(found.fault))
    for container, host in release.servers(plan):
        if release.known(container) is None:
            yield from _nowhere(container, host)


def _nowhere(container: Container, host: str) -> Iterator[Hit]:
    for name in sorted({*release.said(container)} - {_OF_ANOTHER_RULE}):
        if not release.anywhere(release.with_option(name)):
            message = f"{name} of {container.name} is no option of any known release of vLLM"
            path, leaf = (*container.path, "set", name), (*container.path, host, "set", name)
            hint = "correct it, or name it under `extra_flags:` with the reason"
            yield Hit(path, message, hint, leaf=leaf, host=host, severity=Severity.WARNING)


def _hint(fault: Fault) -> str:
    if release.anywhere(release.with_option(fault.wrong)):
        return "choose an image of such a release, or take it away"
    if fault.option in _ELSEWHERE:
        return f"that is another engine's word: vLLM calls it {_ELSEWHERE[fault.option]}"
    known = [name.replace("-", "_").removeprefix("__") for name in fault.known if name.startswith("--")]
    return closest(fault.option, known) or "take it away"
