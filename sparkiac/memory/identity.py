"""What a vLLM startup log states about its server: model, release, device and options, and whether it became ready.

The lines are those of vLLM 0.19.0 to 0.32.0.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sparkiac.memory import startup

UNKNOWN: Final = ...
"""A value that the log does not state, or that cannot be read; None is an option that is not set."""
_READY: Final = "Application startup complete"
_ARGUMENTS: Final = re.compile(r"non-default args: (\{.*\})")
_OBJECT: Final = re.compile(r"<[^<>]*>|\b(?:[A-Z]\w+\([^()]*\)|torch\.\w+|null|true|false)")
"""What Python prints for a value that is no literal: a name of an enumeration, an object; or JSON of an object."""
_CONFIG: Final = re.compile(r"Initializing a V1 LLM engine \(v([^)\s]+)\) with config: (.*)")
_FIELD: Final = re.compile(r"\b(model|revision|device_config)=(?!None)'?([^\s,()']+)")
_DRAFTS: Final = re.compile(r"speculative_config=(?:None|\w+\(method='(\w+)', model=[^,]*, num_spec_tokens=(\d+))")
_SNAPSHOT: Final = re.compile(r".*/models--([^/]+?)--([^/]+)/snapshots/(\w+)/?")
"""Path by which vLLM replaces the handle of a model when it may not use the network."""


class LoggedServer(NamedTuple):
    """The server of a startup log."""

    ready: bool
    """Whether it accepted requests."""
    facts: Mapping[str, Any]
    """Model, commit, release, device, speculative decoding: a value or UNKNOWN."""
    options: Mapping[str, Any] | None
    """Options that differ from vLLM's defaults; None if the log does not list them."""


def read(log: str) -> LoggedServer:
    """Return the server of the last start of a log that had a KV cache."""
    start = startup.last_start(log)
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
