"""Compute the text of the new lock from the required pins, the current lock and the responses from upstream.

Reads and writes no file and sends no request.
"""

from sparkiac.lock.findings import conflicts, example, only_silence, outdated, refused, stale, unbuilt
from sparkiac.lock.merge import Ask, Entry, Gone, Key, asks, entry, gone, merged
from sparkiac.lock.moves import Change, Files, Move, moves
from sparkiac.lock.record import Record, Refused, read
from sparkiac.lock.text import patched, whole, with_record
from sparkiac.lock.wanted import Want, wanted

__all__ = [
    "Ask",
    "Change",
    "Entry",
    "Files",
    "Gone",
    "Key",
    "Move",
    "Record",
    "Refused",
    "Want",
    "asks",
    "conflicts",
    "entry",
    "example",
    "gone",
    "merged",
    "moves",
    "only_silence",
    "outdated",
    "patched",
    "read",
    "refused",
    "stale",
    "unbuilt",
    "wanted",
    "whole",
    "with_record",
]
