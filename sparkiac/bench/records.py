"""Bench records: from rounds, to and from their files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sparkiac.bench.client import Sample
from sparkiac.model.bench import BenchRecord, PointRecord, RoundRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.bench.points import Point
    from sparkiac.bench.runner import Round

_DIGITS: Final = 6
"""Times are rounded to microseconds."""


def points_of(rounds: Iterable[Round]) -> tuple[PointRecord, ...]:
    """Return the points of some rounds, in the order of their first round."""
    found: dict[Point, list[RoundRecord]] = {}
    for each in rounds:
        found.setdefault(each.point, []).append(_round(each))
    return tuple(
        PointRecord(
            name=point.name,
            kind=point.kind,
            prompt_tokens=point.prompt_tokens,
            output_tokens=point.output_tokens,
            concurrency=point.concurrency,
            rate=point.rate,
            rounds=tuple(listed),
        )
        for point, listed in found.items()
    )


def text(record: BenchRecord) -> str:
    """Return the file of a record."""
    return (
        json.dumps(record.model_dump(mode="json", exclude_defaults=True) | {"format": record.format}, indent=1) + "\n"
    )


def _round(found: Round) -> RoundRecord:
    good = found.good
    grown = found.grown
    return RoundRecord(
        seconds=round(found.seconds, _DIGITS),
        prompt_tokens=tuple(sample.prompt_tokens for sample in good),
        output_tokens=tuple(sample.output_tokens for sample in good),
        ttft_s=tuple(round(sample.ttft_s, _DIGITS) for sample in good),
        total_s=tuple(round(sample.total_s, _DIGITS) for sample in good),
        gap_s=tuple(round(sample.gap_s, _DIGITS) for sample in good),
        parts=tuple(sample.parts for sample in good),
        reasoning_parts=tuple(sample.reasoning_parts for sample in good),
        errors=tuple(sample.error for sample in found.samples if sample.error is not None),
        grown=dict(grown.values) if grown else {},
        positions=tuple(grown.positions[place] for place in sorted(grown.positions)) if grown else (),
        others=found.others,
    )


def samples(found: RoundRecord) -> tuple[Sample, ...]:
    """Return the successful requests of a round."""
    columns = (found.prompt_tokens, found.output_tokens, found.ttft_s, found.total_s)
    more = (found.gap_s, found.parts, found.reasoning_parts)
    return tuple(Sample(*each) for each in zip(*columns, *more, strict=True))
