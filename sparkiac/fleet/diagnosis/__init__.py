"""The diagnosis of one server from its logs: known symptoms, healthy markers, unknown errors.

The markers of a server that works are read from the lines of vLLM 0.15.1 to 0.33.0.

All of this package is pure but `journal`, which reads the logs of a deployment over SSH.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis import lines, matching
from sparkiac.fleet.diagnosis.lines import EngineError, Log, LogLine
from sparkiac.fleet.diagnosis.matching import DiagnosedServer, Occurrence
from sparkiac.memory import startup
from sparkiac.memory.values import GIB
from sparkiac.plan.numbers import count

_PROBLEMS: Final = ("error", "warning")
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


class LogState(NamedTuple):
    """The last start of the server in one log."""

    log: Log
    is_server: bool
    """Whether it has lines of vLLM; a kernel log and an answer do not."""
    ready: bool
    ended: bool
    """Whether the server shut down after it was ready."""
    markers: tuple[Marker, ...]
    last: LogLine | None
    """Last line of the engine."""


class Diagnosis(NamedTuple):
    """Findings in the logs of one server."""

    server: DiagnosedServer
    states: tuple[LogState, ...]
    seen: tuple[Occurrence, ...]
    """Known symptoms, the cause first."""
    unknown: EngineError | None = None
    """The first error that no symptom describes, if no error of a known symptom explains it."""

    @property
    def problems(self) -> tuple[Occurrence, ...]:
        """Return errors and warnings."""
        return tuple(each for each in self.seen if each.severity in _PROBLEMS)

    @property
    def failed(self) -> bool:
        """Return whether the logs show a problem."""
        return bool(self.problems) or self.unknown is not None


def diagnose(logs: Sequence[Log], planned: DiagnosedServer | None) -> Diagnosis:
    """Read the logs of one server; `planned` is its part of the inventory."""
    server = DiagnosedServer.of_log(line for log in logs for line in log.last).with_plan(planned)
    seen = matching.diagnosed(logs, server)
    found = Diagnosis(server, tuple(map(_state, logs)), seen, _unknown(logs, seen))
    unknown = found.unknown
    return found._replace(unknown=None) if unknown and unknown.is_consequence and found.problems else found


def _unknown(logs: Sequence[Log], seen: Sequence[Occurrence]) -> EngineError | None:
    """Return the first error that no symptom explains. A consequence explains only what follows it in its own log."""
    known = [each for each in seen if each.severity == "error"]
    if not all(each.symptom.consequence for each in known):
        return None
    after = {line.log: line.number for each in known for line in reversed(each.lines)}
    found = [error for log in logs if (error := lines.first_error(log.last))]
    unexplained = [each for each in found if each.line.number < after.get(each.line.log, sys.maxsize)]
    return min(unexplained, key=lambda each: (each.is_consequence, each.line.at), default=None)


def _state(log: Log) -> LogState:
    ready, ended = progress(log.last)
    facts = markers(log.last)
    is_server = bool(facts) or ready or DiagnosedServer.of_log(log.last).release is not None
    return LogState(log, is_server, ready, ended, facts, lines.last_of_engine(log.last))


class Marker(NamedTuple):
    """One fact about a start."""

    name: str
    value: str
    line: LogLine | None = None


def progress(start: Sequence[LogLine]) -> tuple[bool, bool]:
    """Return whether the server became ready in a start, and whether it shut down after that."""
    headless = any(_HEADLESS[0] in line.text for line in start)
    last = _HEADLESS[1] if headless else _READY
    ready = next((index for index, line in enumerate(start) if last in line.text), None)
    after = start[ready:] if ready is not None else ()
    return ready is not None, any(word in line.text for line in after for word in _ENDED)


def markers(start: Sequence[LogLine]) -> tuple[Marker, ...]:
    """Return the facts of one start, in a fixed order, each value once."""
    found: dict[tuple[str, str], Marker] = {}
    for line in start:
        for name, pattern in _LINES.items():
            matched = pattern.search(line.text)
            if matched:
                groups = [group for group in matched.groups() if group]
                value = _FORMS.get(name, "{0}").format(*groups)
                found.setdefault((name, value), Marker(name, value, line))
    order = list(_LINES)
    kernels = sorted(found.values(), key=lambda each: order.index(each.name))
    return (*kernels, *_memory("\n".join(line.text for line in start)))


def _memory(text: str) -> Iterator[Marker]:
    """Return the memory figures of a log; they are combined from the lines of all ranks."""
    figures = startup.read(text)
    sizes = (("weights", figures.weights_bytes), ("KV cache", figures.pool_bytes))
    yield from (Marker(name, f"{size / GIB:.2f} GiB") for name, size in sizes if size is not None)
    if figures.tokens is not None:
        yield Marker("KV cache tokens", count(figures.tokens))
    if figures.concurrency is not None and figures.context is not None:
        yield Marker("concurrency", f"{figures.concurrency:.2f} requests of {count(figures.context)} tokens")
