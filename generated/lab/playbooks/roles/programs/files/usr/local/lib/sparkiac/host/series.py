"""The series of an engine's metrics, in the text format of Prometheus."""

from __future__ import annotations

import re

SERIES = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{.*\})? +([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?: |$)", re.MULTILINE)
HIGHEST = 2.0**53
"""Largest value that is read: a float counts to here without gaps, and no sum of such values is infinite."""
RUNNING = ("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing")
WAITING = ("vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred")
"""What engines call the requests that they work on, and those that wait."""


def values(text: str) -> dict[str, list[float]]:
    """Return name → the values of all its series. NaN, negative and infinite values are left out."""
    found: dict[str, list[float]] = {}
    for name, value in SERIES.findall(text):
        if float(value) <= HIGHEST:
            found.setdefault(name, []).append(float(value))
    return found
