"""Figures of the rounds of a point: medians and percentiles, speculative decoding, and warnings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sparkiac.bench import client, counters
from sparkiac.bench.client import Sample
from sparkiac.bench.counters import Counters, SpeculationCounters
from sparkiac.model.bench import BenchRecord, PointRecord, RoundRecord

COLUMNS: Final = tuple(name for name in Sample._fields if name != "error")
"""Fields of a successful request that the record of a round has as columns."""
_FEW_TOKENS: Final = 64
"""With fewer generated tokens, the decode speed is noisy: Spark guide, section 10."""
_FEW_PARTS: Final = 4
"""With fewer parts than a quarter of its tokens, a stream does not show when they were generated: the same source."""
CACHED: Final = 0.1
"""Largest normal share of a prompt from the prefix cache: the chat template is the same in all prompts."""
_HOT_SHARE: Final = 0.9
"""A GPU clock below 90 % of the one at the start shows throttling."""


class Spread(NamedTuple):
    """Median and percentiles of some values."""

    median: float
    p10: float
    p90: float
    p99: float
    number: int


class Quantity(NamedTuple):
    """A measured quantity."""

    name: str
    unit: str
    higher_is_better: bool
    of_sample: Callable[[Sample], float | None] | None
    """Function that returns the value of one request; None if the quantity belongs to the round."""


TTFT: Final = Quantity("TTFT", "ms", higher_is_better=False, of_sample=lambda sample: 1000 * sample.ttft_s)
PREFILL: Final = Quantity("prefill", "tokens/s", higher_is_better=True, of_sample=lambda sample: sample.prefill)
DECODE: Final = Quantity("decode", "tokens/s", higher_is_better=True, of_sample=lambda sample: sample.decode)
TOTAL: Final = Quantity("latency", "ms", higher_is_better=False, of_sample=lambda sample: 1000 * sample.total_s)
STALL: Final = Quantity(
    "longest wait", "ms", higher_is_better=False, of_sample=lambda sample: 1000 * sample.gap_s if sample.gap_s else None
)
"""Between two tokens of a request while a long prompt is read."""
THROUGHPUT: Final = Quantity("throughput", "tokens/s", higher_is_better=True, of_sample=None)


def number(value: float) -> str:
    """Return a number with three significant digits, and at least all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004  four digits


def spread(values: Sequence[float]) -> Spread | None:
    """Return median and percentiles; None without values."""
    if not values:
        return None
    p10, p90, p99 = (quantile(values, share) for share in (0.1, 0.9, 0.99))
    return Spread(statistics.median(values), p10, p90, p99, len(values))


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def requests(point: PointRecord, quantity: Quantity) -> Spread | None:
    """Return the spread of a quantity over all requests, or over all rounds if it belongs to the round."""
    if quantity.of_sample is None:
        return spread(by_round(point, quantity))
    return spread(_values(samples(point), quantity.of_sample))


def samples(point: PointRecord) -> list[Sample]:
    """Return the successful requests of all rounds."""
    return [sample for each in point.rounds for sample in _samples(each)]


def prompt(point: PointRecord) -> int:
    """Return the tokens of the prompts: as they were requested, because each round has a few more or fewer."""
    return point.prompt_tokens or round(statistics.median(sample.prompt_tokens for sample in samples(point)))


def by_round(point: PointRecord, quantity: Quantity) -> list[float]:
    """Return one value of each round: the median of its requests, which are not independent of each other."""
    found = (_of_round(each, quantity) for each in point.rounds)
    return [value for value in found if value is not None]


def quantities(point: PointRecord) -> tuple[Quantity, ...]:
    """Return the quantities to compare. Prefill speed and latency are derived from them, so they are not compared."""
    many = any(len(each.ttft_s) > 1 for each in point.rounds)
    decodes = point.output_tokens != 1
    if point.long_tokens:
        return (STALL,)
    return (TTFT, *((DECODE,) if decodes else ()), *((THROUGHPUT,) if many else ()))


def speculation(point: PointRecord) -> SpeculationCounters | None:
    """Return the result of speculative decoding over all rounds; None without drafts."""
    values, positions = dict[str, float](), dict[int, float]()
    for each in point.rounds:
        for name, value in each.grown.items():
            values[name] = values.get(name, 0.0) + value
        for place, value in enumerate(each.positions):
            positions[place] = positions.get(place, 0.0) + value
    return counters.speculation(Counters(values, positions))


def shows_decode(point: PointRecord) -> bool:
    """Return whether the responses are long enough, and in enough parts, for a decode speed."""
    found = samples(point)
    return bool(found) and not _is_short(found) and not _in_few_parts(found)


def from_cache(point: PointRecord) -> float:
    """Return the share of the prompt tokens that came from the prefix cache."""
    hits, asked = (
        sum(each.grown.get(name, 0.0) for each in point.rounds) for name in ("prefix_hits", "prefix_queries")
    )
    return hits / asked if asked else 0.0


def warnings(record: BenchRecord) -> tuple[str, ...]:
    """Return warnings about the figures of a record."""
    found = [text for point in record.points for text in _doubts(point)]
    return tuple(dict.fromkeys([*found, *_machine(record)]))


def _samples(found: RoundRecord) -> tuple[Sample, ...]:
    """Return the successful requests of a round."""
    return tuple(Sample(*each) for each in zip(*(getattr(found, name) for name in COLUMNS), strict=True))


def _of_round(found: RoundRecord, quantity: Quantity) -> float | None:
    if quantity.of_sample is None:
        return client.throughput(sum(found.output_tokens), found.seconds) or None
    values = _values(_samples(found), quantity.of_sample)
    return statistics.median(values) if values else None


def _values(listed: Iterable[Sample], of_sample: Callable[[Sample], float | None]) -> list[float]:
    return [value for sample in listed if (value := of_sample(sample)) is not None]


def _is_short(samples: Sequence[Sample]) -> bool:
    return max(sample.output_tokens for sample in samples) < _FEW_TOKENS


def _in_few_parts(samples: Sequence[Sample]) -> bool:
    return any(sample.parts < sample.output_tokens / _FEW_PARTS for sample in samples)


def _doubts(point: PointRecord) -> Iterator[str]:
    good = samples(point)
    errors = [error for each in point.rounds for error in each.errors]
    if errors:
        yield f"{point.name}: {len(errors)} of {len(errors) + len(good)} requests failed: {errors[-1]}"
    if good and _is_short(good):
        yield f"{point.name}: fewer than {_FEW_TOKENS} generated tokens; the decode speed is noisy"
    if _in_few_parts(good):
        yield (
            f"{point.name}: few parts for many tokens, so the decode speed is doubtful; with a reasoning parser, use "
            "--thinking off"
        )
    if any(sample.output_tokens != point.output_tokens for sample in good) and point.output_tokens:
        yield f"{point.name}: the engine did not generate {point.output_tokens} tokens in each response"
    if any(each.others for each in point.rounds):
        yield f"{point.name}: the server handled requests of other clients meanwhile"
    if (share := from_cache(point)) > CACHED:
        yield f"{point.name}: {share:.0%} of the prompt tokens came from the prefix cache"
    if preempted := sum(each.grown.get("preemptions", 0.0) for each in point.rounds):
        yield f"{point.name}: {preempted:.0f} requests were preempted, because the KV cache was full"


def _machine(record: BenchRecord) -> Iterator[str]:
    for host, before in record.before.items():
        after = record.after.get(host)
        clocks = [each.gpu.clock_mhz for each in (before, after) if each and each.gpu and each.gpu.clock_mhz]
        if len(clocks) == 2 and clocks[1] < _HOT_SHARE * clocks[0]:  # noqa: PLR2004  before and after
            yield f"{host}: the GPU clock fell from {clocks[0]:.0f} to {clocks[1]:.0f} MHz during the run"
        if after and before.generation != after.generation:
            yield f"{host}: the generation changed during the run"
