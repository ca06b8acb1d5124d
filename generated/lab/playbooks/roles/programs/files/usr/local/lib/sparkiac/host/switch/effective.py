"""Return the part of a unit's file whose change requires a restart of the unit.

Only what is proven to be harmless is left out: systemd applies it at a reload, or nothing that runs reads it. Whatever
is not understood counts: another kind of file, a line that continues, a file that was edited into another form.
"""

from __future__ import annotations

import hashlib
import json
import re

from ..contract import parsed

COMPOSE = re.compile(r"etc/sparkiac/[^/]+/compose\.yaml")
PROMISE = re.compile(r"etc/sparkiac/[^/]+/promise\.json")
SYSTEMD = re.compile(r"(?:etc|run|usr/lib)/systemd/system/.+\.(?:service|conf)")
RELOADED = re.compile(
    rb"[ \t]*(?:[#;].*)?|(?:Description|Documentation|After|Wants|RestartSec|RestartSteps|RestartMaxDelaySec)=.*"
)
"""Lines of a unit that change nothing of a process that runs: they count for the next job or restart of the unit."""
ORIGIN = re.compile(rb"\A(?:#[ -~]*\n)+")
"""Comment at the beginning of a YAML file. Elsewhere a line that begins with # may be part of a text."""
READ_AT_START = ("answer_s", "clients", "max_model_len", "reasoning", "speculative", "structured", "vision")
"""Keys of a promise that the health check of a ready server does not use. The gate reads them from the plan."""


def digest(path: str, data: bytes) -> str:
    """Return the SHA-256 of what counts in a file; `path` is below the root directory of the host."""
    return hashlib.sha256(effective(path, data)).hexdigest()


def effective(path: str, data: bytes) -> bytes:
    """Return what counts in a file."""
    if SYSTEMD.fullmatch(path):
        return unit(data)
    if COMPOSE.fullmatch(path):
        return ORIGIN.sub(b"", data)
    return promise(data) if PROMISE.fullmatch(path) else data


def unit(data: bytes) -> bytes:
    """Return the lines of a unit or drop-in that count; all of a file in which a line continues."""
    lines = data.splitlines()
    if b"\0" in data or any(line.rstrip().endswith(b"\\") for line in lines):
        return data
    return b"\n".join(line for line in lines if not RELOADED.fullmatch(line))


def promise(data: bytes) -> bytes:
    """Return a promise in which all values are the same that are read only at a start; its keys stay."""
    try:
        found = parsed(data.decode())
    except ValueError:
        return data
    if not isinstance(found, dict):
        return data
    return json.dumps({key: None if key in READ_AT_START else found[key] for key in sorted(found)}).encode()
