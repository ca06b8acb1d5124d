"""What a vLLM log says about a server that works: kernels, CUDA graphs, speculation, KV cache, readiness.

The lines are those of vLLM 0.15.1 to 0.33.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis.lines import LogLine
from sparkiac.memory import startup
from sparkiac.memory.values import GIB
from sparkiac.plan.numbers import count

_READY: Final = "Application startup complete"
_HEADLESS: Final = ("headless multiproc executor", "Kernel JIT monitor activated")
"""A headless rank prints no line when it is ready; the second of these is its last line."""
_ENDED: Final = ("[shutdown]", "Shutting down", "Application shutdown complete", "Stopping sparkiac-")
_LINES: Final = {
    "attention": re.compile(
        r"Using (?:AttentionBackendEnum\.)?([A-Z][A-Z0-9_]{3,40}) (?:attention )?backend(?: out of|\.|$)"
        r"|Using (Flash Attention|FlashInfer|Triton) backend"
    ),
    "MLA prefill": re.compile(r"Using ([A-Za-z0-9_]{3,40}) MLA prefill backend"),
    "attention version": re.compile(r"Using (FlashAttention version [0-9]{1,2})"),
    "linear attention": re.compile(r"Using ([A-Za-z/]{1,30}) GDN prefill kernel"),
    "MoE": re.compile(r"Using '?([A-Za-z0-9_]{1,40}(?: [A-Z][A-Za-z0-9_]{1,40})?)'? ([A-Za-z0-9]{2,20}) MoE backend"),
    "GEMM": re.compile(r"(?:Using|Selected) ([A-Za-z0-9_.]{3,80}) for ([A-Za-z0-9]{2,60}(?: GEMM)?)"),
    "KV cache type": re.compile(r"Using (fp8\w{0,10}|nvfp4) data type to store kv cache"),
    "speculation": re.compile(
        r"SpeculativeConfig\(method='([^']{1,60})', model='([^']{1,300})', num_spec_tokens=([0-9]{1,4})"
    ),
    "drafter": re.compile(r"(Loading drafter model|Detected MTP model|Detected EAGLE model|DSpark draft model loaded)"),
    "compilation": re.compile(r"torch\.compile (?:takes|took) ([0-9.]{1,12}) s in total"),
    "CUDA graphs": re.compile(r"Graph capturing finished in ([0-9]{1,6}) secs?, took (-?[0-9.]{1,10}) GiB"),
    "no CUDA graphs": re.compile(r"(Cudagraph is disabled under eager mode|enforce_eager=True)"),
}
_FORMS: Final = {
    "MoE": "{0} for {1}",
    "GEMM": "{0} for {1}",
    "speculation": "{0} with {2} tokens, drafter {1}",
    "compilation": "{0} s",
    "CUDA graphs": "captured in {0} s, {1} GiB",
    "drafter": "loaded",
    "no CUDA graphs": "enforce_eager is on",
}


class Marker(NamedTuple):
    """One fact about a start."""

    name: str
    value: str
    line: LogLine | None = None


def progress(lines: Sequence[LogLine]) -> tuple[bool, bool]:
    """Return whether the server became ready in a start, and whether it shut down after that."""
    headless = any(_HEADLESS[0] in line.text for line in lines)
    last = _HEADLESS[1] if headless else _READY
    ready = next((index for index, line in enumerate(lines) if last in line.text), None)
    after = lines[ready:] if ready is not None else ()
    return ready is not None, any(word in line.text for line in after for word in _ENDED)


def markers(lines: Sequence[LogLine]) -> tuple[Marker, ...]:
    """Return the facts of one start, in a fixed order, each value once."""
    found: dict[tuple[str, str], Marker] = {}
    for line in lines:
        for name, pattern in _LINES.items():
            matched = pattern.search(line.text)
            if matched:
                groups = [group for group in matched.groups() if group]
                value = _FORMS.get(name, "{0}").format(*groups)
                found.setdefault((name, value), Marker(name, value, line))
    order = list(_LINES)
    kernels = sorted(found.values(), key=lambda each: order.index(each.name))
    return (*kernels, *_memory("\n".join(line.text for line in lines)))


def _memory(text: str) -> Iterator[Marker]:
    """Return the memory figures of a log; they are combined from the lines of all ranks."""
    figures = startup.read(text)
    sizes = (("weights", figures.weights_bytes), ("KV cache", figures.pool_bytes))
    yield from (Marker(name, f"{size / GIB:.2f} GiB") for name, size in sizes if size is not None)
    if figures.tokens is not None:
        yield Marker("KV cache tokens", count(figures.tokens))
    if figures.concurrency is not None and figures.context is not None:
        yield Marker("concurrency", f"{figures.concurrency:.2f} requests of {count(figures.context)} tokens")
