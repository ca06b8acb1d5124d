"""Charts of records as SVG: one panel for each quantity, with medians and the range from 10 % to 90 %."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from sparkiac.bench import summary
from sparkiac.bench.summary import Quantity, Spread, number
from sparkiac.model.bench import BenchRecord

_WIDTH: Final = 760
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 24, 44, 42
_PLOT: Final = 170
_PANEL: Final = _TOP + _PLOT + _BOTTOM
_HEAD: Final = 56
_TICKS: Final = 4
_LABEL_WIDTH: Final = 6.2
"""Average width of a letter at 11 pixels."""
_ORDERED: Final = frozenset({"sweep", "rate", "depth"})
"""Modes whose points are increasing loads or depths, so that a line connects them."""
_STYLE: Final = """\
svg{font:12px system-ui,sans-serif;background:#fff}text{fill:#333}.t{font-size:16px;font-weight:600}.h{font-weight:600}
.s{font-size:11px;fill:#666}.g{stroke:#e4e4e4}.l{fill:none;stroke-width:2}
.w{stroke-width:6;stroke-opacity:.28;stroke-linecap:round}.c0 .l,.c0 .w{stroke:#2563a8}.c0 .d{fill:#2563a8}
.c1 .l,.c1 .w{stroke:#c2571a}.c1 .d{fill:#c2571a}
@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#ddd}.s{fill:#9aa}.g{stroke:#33373d}
.c0 .l,.c0 .w{stroke:#6cb0f5}.c0 .d{fill:#6cb0f5}.c1 .l,.c1 .w{stroke:#f0975a}.c1 .d{fill:#f0975a}}"""


class Series(NamedTuple):
    """One record: name and point → spread."""

    name: str
    spreads: dict[str, Spread]


class ChartPanel(NamedTuple):
    """One quantity of all points."""

    quantity: Quantity
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    joined: bool
    """Whether a line connects the points."""


def svg(listed: Sequence[tuple[str, BenchRecord]]) -> str | None:
    """Return the chart of one or two named records; None if there is nothing to draw."""
    panels = [panel for quantity in _quantities(listed) if (panel := _panel(quantity, listed))]
    if not panels:
        return None
    height = _HEAD + len(panels) * _PANEL
    first = listed[0][1]
    title = f"{first.subject.title}: {first.mode}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="t" x="24" y="32">{escape(title)}</text>',
        *_legend([name for name, _ in listed]),
    ]
    for place, panel in enumerate(panels):
        parts += _drawn(panel, _HEAD + place * _PANEL)
    return "\n".join([*parts, "</svg>", ""])


def _quantities(listed: Sequence[tuple[str, BenchRecord]]) -> tuple[Quantity, ...]:
    loads = any(point.concurrency > 1 for _, record in listed for point in record.points)
    speeds = (summary.THROUGHPUT, summary.DECODE) if loads else (summary.DECODE, summary.PREFILL)
    return (*speeds, summary.TTFT)


def _panel(quantity: Quantity, listed: Sequence[tuple[str, BenchRecord]]) -> ChartPanel | None:
    series = tuple(
        Series(name, {point.name: found for point in record.points if (found := summary.requests(point, quantity))})
        for name, record in listed
    )
    labels = tuple(dict.fromkeys(label for each in series for label in each.spreads))
    joined = all(record.mode in _ORDERED for _, record in listed)
    return ChartPanel(quantity, labels, series, joined) if labels else None


def _drawn(panel: ChartPanel, top: float) -> Iterator[str]:
    """Yield a panel: title, grid, labels, then each series."""
    highest = max(found.p90 for each in panel.series for found in each.spreads.values())
    step = _step(highest)
    full = step * math.ceil(highest / step)
    base = top + _TOP + _PLOT
    better = "higher" if panel.quantity.higher_is_better else "lower"
    yield f'<text class="h" x="{_LEFT}" y="{top + 24}">{panel.quantity.name}, {panel.quantity.unit}</text>'
    yield f'<text class="s" x="{_WIDTH - _RIGHT}" y="{top + 24}" text-anchor="end">{better} is better</text>'
    for tick in range(round(full / step) + 1):
        y = base - tick * step / full * _PLOT
        yield f'<line class="g" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="s" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(tick * step)}</text>'
    yield from _labels(panel.labels, base)
    for place, series in enumerate(panel.series):
        yield from _series(panel, series, place, base, full)


def _labels(labels: Sequence[str], base: float) -> Iterator[str]:
    """Yield the names of the points, cut to their columns."""
    width = (_WIDTH - _LEFT - _RIGHT) / len(labels)
    most = max(4, int(width / _LABEL_WIDTH) - 1)
    for place, label in enumerate(labels):
        shown = label if len(label) <= most else f"{label[: most - 1]}…"
        x = _LEFT + width * (place + 0.5)
        text = f"<title>{escape(label)}</title>{escape(shown)}"
        yield f'<text class="s" x="{x:.1f}" y="{base + 18:.1f}" text-anchor="middle">{text}</text>'


def _series(panel: ChartPanel, series: Series, place: int, base: float, full: float) -> Iterator[str]:
    """Yield one record: the range and the median of each point."""
    width = (_WIDTH - _LEFT - _RIGHT) / len(panel.labels)
    shift = (place - (len(panel.series) - 1) / 2) * 14
    dots = []
    yield f'<g class="c{place}">'
    for column, label in enumerate(panel.labels):
        found = series.spreads.get(label)
        if found is None:
            continue
        x = _LEFT + width * (column + 0.5) + shift
        low, middle, high = (base - value / full * _PLOT for value in (found.p10, found.median, found.p90))
        tip = f"{label}: {number(found.median)} ({number(found.p10)} to {number(found.p90)}), n = {found.number}"
        yield f'<line class="w" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        yield f'<circle class="d" cx="{x:.1f}" cy="{middle:.1f}" r="4"><title>{escape(tip)}</title></circle>'
        if len(panel.series) == 1:
            yield f'<text class="s" x="{x + 9:.1f}" y="{middle - 6:.1f}">{number(found.median)}</text>'
        dots.append(f"{x:.1f},{middle:.1f}")
    if panel.joined and len(dots) > 1:
        yield f'<polyline class="l" points="{" ".join(dots)}"/>'
    yield "</g>"


def _legend(names: Sequence[str]) -> Iterator[str]:
    if len(names) < 2:  # noqa: PLR2004  one record needs no legend
        return
    x = float(_WIDTH - _RIGHT)
    for place, name in reversed(list(enumerate(names))):
        x -= len(name) * 7 + 8
        yield f'<g class="c{place}"><circle class="d" cx="{x - 9:.1f}" cy="28" r="4"/></g>'
        yield f'<text class="s" x="{x:.1f}" y="32">{escape(name)}</text>'
        x -= 26


def _step(highest: float) -> float:
    """Return the distance of the lines of the grid: 1, 2, 2.5 or 5 times a power of ten."""
    if highest <= 0:
        return 1.0
    rough = highest / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
