"""Compute the text of the new lock from the required pins, the current lock and the responses from upstream.

Reads and writes no file and sends no request.
"""

from sparkiac.lock.comparison import (
    FileChanges,
    LockChange,
    PinChange,
    PinComparison,
    PinDifference,
    PinFailure,
    RequestResults,
    by_name,
    by_pin,
    changes,
    compared,
)
from sparkiac.lock.findings import conflicts, different, only_missing_responses, outdated, refused, stale, unbuilt
from sparkiac.lock.merge import (
    Key,
    LockEntry,
    PinRequest,
    RecordError,
    UnusedPin,
    entry,
    locked_source,
    merged,
    read_record,
    requests,
    unused,
    with_record,
    with_sources,
)
from sparkiac.lock.required import RequiredPin, required
from sparkiac.lock.text import patched, whole

__all__ = [
    "FileChanges",
    "Key",
    "LockChange",
    "LockEntry",
    "PinChange",
    "PinComparison",
    "PinDifference",
    "PinFailure",
    "PinRequest",
    "RecordError",
    "RequestResults",
    "RequiredPin",
    "UnusedPin",
    "by_name",
    "by_pin",
    "changes",
    "compared",
    "conflicts",
    "different",
    "entry",
    "locked_source",
    "merged",
    "only_missing_responses",
    "outdated",
    "patched",
    "read_record",
    "refused",
    "requests",
    "required",
    "stale",
    "unbuilt",
    "unused",
    "whole",
    "with_record",
    "with_sources",
]
