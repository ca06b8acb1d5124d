"""What an engine's metrics say about its load, and connections of the ranks of a group."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from .. import series

ENGINES = ("vllm", "sglang", "llamacpp")
COUNTERS = ("prompt_tokens_total", "generation_tokens_total", "tokens_predicted_total")
USAGE = ("kv_cache_usage_perc", "token_usage", "kv_cache_usage_ratio")
"""During a long prefill only the KV cache usage changes."""
DRAFTED, ACCEPTED = "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total"
QUERIES, HITS = "prefix_cache_queries_total", "prefix_cache_hits_total"
ESTABLISHED = "01"
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


class Load(NamedTuple):
    """The load of an engine."""

    counters: str
    """Text that changes while the engine works."""
    running: int
    waiting: int
    usage: float
    """Share of the KV cache in use."""

    @property
    def queue(self) -> str:
        """Return the queue in words."""
        return f"{self.running} requests running, {self.waiting} waiting, KV cache use {self.usage:.0%}"


def sums(text: str) -> dict[str, float]:
    """Return the sum of each metric over its labels, without the prefix of the engine."""
    named = ((name.partition(":"), values) for name, values in series.values(text).items())
    return {short: sum(values) for (engine, _, short), values in named if engine in ENGINES}


def growth(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Return how far each metric grew; a metric that was not there before began at zero."""
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


def load_of(text: str) -> Load | None:
    """Return the load; None if the engine has none of these metrics."""
    found = sums(text)
    moving = [f"{name} {found[name]}" for name in (*COUNTERS, *USAGE) if name in found]
    if not moving:
        return None
    running, waiting, usage = (
        sum(found.get(name.rpartition(":")[2], 0.0) for name in names)
        for names in (series.RUNNING, series.WAITING, USAGE)
    )
    return Load("\n".join(moving), round(running), round(waiting), usage)


def connections(port: int, *, local: bool) -> dict[str, list[str]]:
    """Return the connections from other hosts to `port` here, or from here to `port` of another host.

    The result is the address of the other host → its ports, or those of this host.
    """
    found: dict[str, list[str]] = {}
    for table in TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in (line.split() for line in lines):
            ends = [end_of(each) for each in fields[1:3]]
            if fields[3] == ESTABLISHED and ends[0 if local else 1][1] == port and ends[0][0] != ends[1][0]:
                found.setdefault(ends[1][0], []).append(str(ends[1 if local else 0][1]))
    return {address: sorted(ports) for address, ports in sorted(found.items())}


def end_of(text: str) -> tuple[str, int]:
    """Return address and port of an entry in /proc/net/tcp, whose 32-bit words are in the order of the machine."""
    address, _, port = text.partition(":")
    words = [bytes.fromhex(address[start : start + 8])[::-1] for start in range(0, len(address), 8)]
    parsed = ip_address(b"".join(words))
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed), int(port, 16)
