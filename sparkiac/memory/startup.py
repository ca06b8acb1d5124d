"""Memory figures of a vLLM startup log, and the server that it is about.

The lines are those of vLLM 0.15.1, 0.19.0, 0.23.0 and 0.32.0, and of the log that Spark guide L345-348 prints. Sizes
in a log are rounded to 0.01 GiB.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sparkiac.memory.values import GIB

_GIB: Final = r"(?<![\d.-])(-?\d+(?:\.\d+)?) ?GiB"
_MOST_GIB: Final = 99_999.0
"""Upper limit of a size in a log; no server has so much memory."""
_COUNT: Final = r"(\d[\d,]{0,20})"
_SIZES: Final = {
    "weights_bytes": rf"Model loading took {_GIB}",
    "pool_bytes": rf"Available KV cache memory: {_GIB}",
    "graphs_bytes": rf"Graph capturing finished in [^\n]{{0,40}}?took {_GIB}",
    "graphs_estimate_bytes": rf"Estimated CUDA graph memory: {_GIB} total",
    "visible_bytes": rf"Free memory on device [^(\n]{{0,40}}\(-?[\d.]+/{_GIB}\)",
    "requested_bytes": rf"Desired GPU memory utilization is \([\d.]+, {_GIB}\)",
    "activations_bytes": rf"{_GIB} for peak activation",
    "runtime_bytes": rf"{_GIB} for non-torch memory",
}
_COUNTS: Final = {
    "tokens": rf"KV cache size: {_COUNT} tokens",
    "context": rf"Maximum concurrency for {_COUNT} tokens per request",
    "block_tokens": rf"Setting attention block size to {_COUNT} tokens",
    "blocks": rf"# GPU blocks: {_COUNT}",
}
_SMALLEST: Final = frozenset({"pool_bytes", "visible_bytes", "requested_bytes"})
"""Sizes of which the smallest rank's counts, because vLLM gives all ranks equally many blocks; else the largest.
A negative size of any rank counts, because no sizes of that start are right."""
_STARTS: Final = ("non-default args", "Initializing a V1 LLM engine")
"""What the first line of a start contains; the second one counts in a log without the first."""
_HAS_POOL: Final = "Available KV cache memory|KV cache size:"
_CONCURRENCY: Final = re.compile(r"tokens per request: (\d{1,12}(?:\.\d+)?)x")
UNKNOWN: Final = ...
"""A value that the log does not state, or that cannot be read; None is an option that is not set."""
_READY: Final = "Application startup complete"
_ARGUMENTS: Final = re.compile(r"non-default args: (\{.*\})")
_OBJECT: Final = re.compile(r"<[^<>]*>|\b(?:[A-Z]\w+\([^()]*\)|torch\.\w+|null|true|false)")
"""Python's text of a value that is not a literal: an enumeration member, an object, or an object as JSON."""
_CONFIG: Final = re.compile(r"Initializing a V1 LLM engine \(v([^)\s]+)\) with config: (.*)")
_FIELD: Final = re.compile(r"\b(model|revision|device_config)=(?!None)'?([^\s,()']+)")
_DRAFTS: Final = re.compile(r"speculative_config=(?:None|\w+\(method='(\w+)', model=[^,]*, num_spec_tokens=(\d+))")
_SNAPSHOT: Final = re.compile(r".*/models--([^/]+?)--([^/]+)/snapshots/(\w+)/?")
"""Path by which vLLM replaces the handle of a model when it may not use the network."""


class Startup(NamedTuple):
    """Figures of a startup log; None if its line is missing. The last start with a KV cache size counts."""

    weights_bytes: int | None = None
    pool_bytes: int | None = None
    graphs_bytes: int | None = None
    graphs_estimate_bytes: int | None = None
    visible_bytes: int | None = None
    """Memory that CUDA sees."""
    requested_bytes: int | None = None
    activations_bytes: int | None = None
    runtime_bytes: int | None = None
    """Memory outside PyTorch."""
    tokens: int | None = None
    context: int | None = None
    block_tokens: int | None = None
    blocks: int | None = None
    concurrency: float | None = None


def read(log: str) -> Startup:
    """Return the figures of a startup log. Other lines are ignored."""
    start = last_start(log)
    sizes = {name: _size(name, found) for name, line in _SIZES.items() if (found := re.findall(line, start))}
    counts = {
        name: int(found[-1].replace(",", "")) for name, line in _COUNTS.items() if (found := re.findall(line, start))
    }
    concurrency = _CONCURRENCY.findall(start)
    return Startup(**sizes, **counts, concurrency=float(concurrency[-1]) if concurrency else None)


def last_start(log: str, *, reached: str = _HAS_POOL) -> str:
    """Return the last start of a log that has a line with the pattern `reached`; the whole log if there is none."""
    first = next((line for line in _STARTS if line in log), _STARTS[0])
    starts = re.split(rf"^(?=.*{first})", log, flags=re.MULTILINE)
    return next((start for start in reversed(starts) if re.search(reached, start)), log)


def _size(name: str, found: list[str]) -> int:
    sizes = [round(min(float(size), _MOST_GIB) * GIB) for size in found]
    return min(sizes) if name in _SMALLEST or min(sizes) < 0 else max(sizes)


class LoggedServer(NamedTuple):
    """The server of a startup log."""

    ready: bool
    """Whether it accepted requests."""
    facts: Mapping[str, Any]
    """Model, commit, release, device, speculative decoding: a value or UNKNOWN."""
    options: Mapping[str, Any] | None
    """Options that differ from vLLM's defaults; None if the log does not list them."""


def server(log: str) -> LoggedServer:
    """Return the server of the last start of a log that had a KV cache."""
    start = last_start(log)
    options, config = _options(start), _CONFIG.search(start)
    release, text = config.groups() if config else (UNKNOWN, "")
    given = dict(reversed(_FIELD.findall(text))) | (options or {})
    stored, drafts = _SNAPSHOT.fullmatch(str(given.get("model"))), _DRAFTS.search(text)
    facts = {
        "model": f"{stored[1]}/{stored[2]}" if stored else given.get("model", UNKNOWN),
        "commit": stored[3] if stored else given.get("revision", UNKNOWN),
        "release": release,
        "device": given.get("device_config", UNKNOWN),
        "speculative decoding": drafting(*drafts.groups()) if drafts else UNKNOWN,
    }
    return LoggedServer(_READY in start, facts, options)


def drafting(method: str | None, tokens: object) -> str:
    """Return a name of speculative decoding; vLLM calls every method of a checkpoint's own MTP layers `mtp`."""
    return f"{'mtp' if method.endswith('_mtp') else method} with {tokens} tokens" if method else "off"


def _options(start: str) -> dict[str, Any] | None:
    """Return the options of a start, which it prints as a dictionary of Python."""
    found = _ARGUMENTS.search(start)
    try:
        options = ast.literal_eval(_OBJECT.sub("...", found[1])) if found else None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return options if isinstance(options, dict) else None
