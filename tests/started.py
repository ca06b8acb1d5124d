"""The log that vLLM would write of a planned server, from its rendered command: read by a parser of its own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sparkiac.catalog import interfaces
from sparkiac.engines.vllm_check import words
from sparkiac.engines.vllm_check.values import human

if TYPE_CHECKING:
    from sparkiac.catalog.interfaces import OptionSpec
    from sparkiac.plan import Container


def log_of(container: Container, *, context: int, device: str = "cuda") -> str:
    """Write the lines of a successful start: options that differ from the defaults, configuration, sizes, readiness."""
    release = container.image.vllm or interfaces.versions()[-1]
    interface = container.image.interface or interfaces.interface(interfaces.nearest(release))
    assert interface is not None
    line = container.argv
    after = line.index("serve") + 1 if "serve" in line else len(container.entrypoint)
    found = words.read(line[after:], interface)
    pairs = {each.option.name[2:].replace("-", "_"): (each.option, value(each)) for each in found.given}
    given = {"model_tag": line[after]} if not line[after].startswith("-") else {}
    given |= {"model": line[after], "api_key": ["***"]} if given else {}
    given |= {name: stated for name, (option, stated) in pairs.items() if differs(option, stated)}
    drafts = given.get("speculative_config")
    said = (
        f"SpeculativeConfig(method='{drafts['method']}', model='x', num_spec_tokens={drafts['num_speculative_tokens']})"
        if drafts
        else None
    )
    config = (
        f"model='{given['model']}', speculative_config={said}, max_seq_len={context}, device_config={device}, seed=0"
    )
    engine = f"Initializing a V1 LLM engine (v{release}) with config: {config}"
    return (
        f"(APIServer pid=1) INFO 11-22 04:39:13 [utils.py:253] non-default args: {given}\n"
        f"(EngineCore pid=7) INFO 11-22 04:39:51 [core.py:1] {engine}\n"
        "INFO [gpu_model_runner.py:1] Model loading took 1.5 GiB memory and 84.1 seconds\n"
        "INFO [gpu_worker.py:1] Available KV cache memory: 1.5 GiB\n"
        f"INFO [kv_cache_utils.py:1] Maximum concurrency for {context:,} tokens per request: 1.33x\n"
        "(APIServer pid=1) INFO:     Application startup complete.\n"
    )


def value(given: words.Given) -> Any:  # noqa: ANN401  any value of an option
    """Return the value of an option as vLLM's parser makes it."""
    option = given.option
    if option.kind in {"switch", "pair"}:
        return given.spelling not in option.negative
    if len(given.words) != 1:
        return list(given.words)
    [text] = given.words
    kind = option.type or "str"
    if kind.startswith("human"):
        return -1 if text == "auto" else human(text)
    if kind in {"int", "float"}:
        return int(text) if kind == "int" else float(text)
    if kind.startswith("json"):
        return json.loads(text)
    return text


def differs(option: OptionSpec, stated: object) -> bool:
    """Return whether vLLM prints the option: only if it is not the default."""
    return option.default is None or json.loads(option.default) != stated
