"""Counters of a server, from its page of metrics: other clients, speculative decoding, and the prefix cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac import engines
from sparkiac.bench import client
from sparkiac.bench.client import ApiEndpoint
from sparkiac.upstream.streaming import ServerError, ServerRequest, fetch

_POSITION: Final = re.compile(r'position="(\d+)"')
_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_QUANTITIES: Final = (
    *("running", "waiting", "prompt_tokens", "generated_tokens", "requests", "preemptions", "prefix_queries"),
    *("prefix_hits", "drafts", "draft_tokens", "accepted_tokens"),
)
_GAUGES: Final = frozenset({"running", "waiting"})


class Counters(NamedTuple):
    """Values of a page: quantity → sum of its series. Quantities that the engine does not expose are missing."""

    values: Mapping[str, float]
    positions: Mapping[int, float]
    """Position in a draft → accepted tokens."""

    @property
    def busy(self) -> int | None:
        """Return the running and waiting requests; None if the engine does not expose them."""
        if "running" not in self.values:
            return None
        return round(self.values["running"] + self.values.get("waiting", 0))

    def since(self, before: Counters) -> Counters:
        """Return the increase of the counters, and the current values of the gauges."""
        values = {
            name: value if name in _GAUGES else value - before.values.get(name, 0.0)
            for name, value in self.values.items()
        }
        places = {place: value - before.positions.get(place, 0.0) for place, value in self.positions.items()}
        return Counters(values, places)


class SpeculationCounters(NamedTuple):
    """Speculative decoding over some requests."""

    acceptance: float
    """Accepted share of the drafted tokens."""
    waste: float
    draft_length: float
    """Drafted tokens per step."""
    accepted_length: float
    """Accepted tokens per step."""
    per_position: tuple[float, ...] = ()
    """Share of the drafts that were accepted up to each position."""


def read(endpoint: ApiEndpoint) -> Counters | None:
    """Return the counters of a server; None if it exposes no metrics."""
    try:
        return parse(fetch(ServerRequest(f"{endpoint.url}/metrics", endpoint.key)), endpoint.engine)
    except ServerError:
        return None


def parse(page: str, engine: str | None) -> Counters | None:
    """Read a metrics page with the metric names of an engine; if unknown, of the first engine that matches."""
    sums, places = dict[str, float](), dict[int, float]()
    for name, labels, value in engines.samples(page):
        sums[name] = sums.get(name, 0.0) + value
        if name == _PER_POSITION and (found := _POSITION.search(labels)):
            places[int(found[1])] = places.get(int(found[1]), 0.0) + value
    for table in (each.quantities for each in ([engines.named(engine)] if engine else engines.every())):
        values = {each: sums[table[each].name] for each in _QUANTITIES if each in table and table[each].name in sums}
        if values:
            return Counters(values, places)
    return None


def speculation(grown: Counters) -> SpeculationCounters | None:
    """Return the result of speculative decoding; None without drafts."""
    drafts, drafted, accepted = (grown.values.get(each) for each in ("drafts", "draft_tokens", "accepted_tokens"))
    if not drafts or not drafted or accepted is None:
        return None
    rate, each = accepted / drafted, drafted / drafts
    shares = tuple(grown.positions[place] / drafts for place in sorted(grown.positions))
    return SpeculationCounters(rate, client.waste(rate), each, client.draft_length(rate, each), shares)
