"""Layout of the fleet diagram: positions of boxes and lines, in pixels. Texts are wrapped in their boxes, never cut.

Hosts are arranged in rows. Lines connect hosts that share a direct link, and arrows connect a unit with the units that
it uses.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from ipaddress import ip_interface
from itertools import pairwise
from typing import Final, NamedTuple

from sparkiac.plan import Container, HostPlan
from sparkiac.plan.agents import ConfigFile
from sparkiac.plan.container import Program

_MARGIN: Final = 44
_EDGE: Final = 6
_TOP_SPACE: Final = 34
"""Space above the first row for lines that pass above a box."""
_UNUSED_TOP: Final = _TOP_SPACE - _EDGE
_CORNER_RADIUS: Final = 9
_SIDE_DISTANCE: Final = 26
"""Distance between a box and a line that runs along it."""
_HEAD: Final = 62
_UNIT_HEIGHT: Final = 46
"""Of a unit with two lines of text."""
_HOST_STEP: Final = 18
_UNIT_STEP: Final = 16
"""Distance of two lines of text."""
_UNIT_GAP: Final = 10
_PAD: Final = 14
_ROW_GAP: Final = 44
_ARROW: Final = 7
_SPREAD: Final = 9
_LETTER: Final = 7.4
"""Average width of a letter at 13 pixels in the widest of the common system fonts; bold letters are a tenth wider."""


class TextLine(NamedTuple):
    """One line of text in a box."""

    kind: str
    """`name` of a host, `unit`, or `below` for what stands below them."""
    text: str
    y: float
    """Distance from the top of its box."""


class UnitBox(NamedTuple):
    """Box of a unit or a configuration file."""

    name: str
    lines: tuple[TextLine, ...]
    kind: str
    """`deployment`, `service`, `program` or `document`."""
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Return the y coordinate of its centre, where lines end."""
        return self.y + self.height / 2


class HostBox(NamedTuple):
    """Box of a host with the boxes of its units."""

    name: str
    lines: tuple[TextLine, ...]
    x: float
    y: float
    width: float
    height: float
    column: int
    row: int
    chips: tuple[UnitBox, ...]


class Connector(NamedTuple):
    """A line between two boxes."""

    kind: str
    """`link` for a direct link, `arrow` for a dependency, `broken` for a dependency that cannot be reached."""
    title: str
    path: str
    """SVG path."""
    arrow: str = ""
    """Corners of the arrowhead, as SVG points."""


class Drawing(NamedTuple):
    """The diagram: its size, boxes and lines."""

    top: float
    width: float
    height: float
    boxes: tuple[HostBox, ...]
    links: tuple[Connector, ...]
    asks: tuple[Connector, ...]


def draw(hosts: Sequence[HostPlan], *, columns: int, box: int, gap: int) -> Drawing:
    """Lay out hosts in rows of `columns`, with boxes of width `box` and `gap` between them."""
    boxes, top = [], float(_TOP_SPACE)
    for first in range(0, len(hosts), columns):
        row = hosts[first : first + columns]
        height = max(_height(host, box) for host in row)
        for column, host in enumerate(row):
            place = (_MARGIN + column * (box + gap), top, box, height, column, first // columns)
            boxes.append(_box(host, place))
        top += height + _ROW_GAP
    drawn = tuple(boxes)
    linked, arrows = tuple(_linked(hosts, drawn)), tuple(_dependencies(hosts, drawn))
    pairs = (*((first, second) for first, second, _ in linked), *((arrow.source, arrow.target) for arrow in arrows))
    above = (
        0
        if any(_distant(first, second) and max(first.row, second.row) == 0 for first, second in pairs)
        else _UNUSED_TOP
    )
    width = 2 * _MARGIN + min(columns, len(hosts)) * (box + gap) - gap
    links = tuple(_link(*each) for each in linked)
    return Drawing(above, width, top - _ROW_GAP + _EDGE - above, drawn, links, tuple(_arrows(arrows)))


def _units(host: HostPlan) -> tuple[Container | Program | ConfigFile, ...]:
    return (*host.units, *host.config_files)


def _height(host: HostPlan, width: float) -> float:
    units = sum(chip.height + _UNIT_GAP for chip in _chips(host, 0, _head(host, width), width))
    return _head(host, width) + (units or _UNIT_HEIGHT + _UNIT_GAP) + _PAD - _UNIT_GAP


def _head(host: HostPlan, width: float) -> float:
    return _HEAD + _HOST_STEP * (len(_host_lines(host, width)) - 2)


def _host_lines(host: HostPlan, width: float) -> tuple[TextLine, ...]:
    texts = (("name", host.name, 1.25), ("below", f"{host.address} · {host.platform_name}", 0.85))
    return _lines(texts, width - 2 * _PAD, first=28, step=_HOST_STEP)


def _box(host: HostPlan, place: tuple[float, float, int, float, int, int]) -> HostBox:
    x, y, width, *_ = place
    chips = tuple(_chips(host, x, y + _head(host, width), width))
    return HostBox(host.name, _host_lines(host, width), *place, chips)


def _chips(host: HostPlan, x: float, y: float, width: float) -> Iterator[UnitBox]:
    """Place the units of a host below each other, from y on."""
    for each in _units(host):
        chip = _chip(each, x + _PAD, y, width - 2 * _PAD)
        yield chip
        y += chip.height + _UNIT_GAP


def _chip(each: Container | Program | ConfigFile, x: float, y: float, width: float) -> UnitBox:
    kind = "document" if isinstance(each, ConfigFile) else "program" if isinstance(each, Program) else each.kind
    texts = (("unit", each.name, 1.1), ("below", _below(each), 0.85))
    lines = _lines(texts, width - 2 * _PAD, first=20, step=_UNIT_STEP)
    return UnitBox(each.name, lines, kind, x, y, width, _UNIT_HEIGHT + _UNIT_STEP * (len(lines) - 2))


def _below(each: Container | Program | ConfigFile) -> str:
    if isinstance(each, ConfigFile):
        return f"/{each.file}"
    port = f":{each.network.listen[1]}" if each.network.listen else ""
    rank = f"node {each.server.node[0] + 1} of {each.server.node[1]}" if each.server.node else ""
    return " · ".join(word for word in (port, rank or ", ".join(each.server.served)) if word) or each.description


def _lines(texts: Sequence[tuple[str, str, float]], width: float, *, first: float, step: float) -> tuple[TextLine, ...]:
    """Wrap texts, each with its kind and size, to a width, estimated because the font of the viewer is unknown."""
    wrapped = [
        (kind, line) for kind, text, size in texts for line in textwrap.wrap(text, int(width / (_LETTER * size)))
    ]
    return tuple(TextLine(kind, line, first + step * number) for number, (kind, line) in enumerate(wrapped))


def _linked(hosts: Sequence[HostPlan], boxes: Sequence[HostBox]) -> Iterator[tuple[HostBox, HostBox, str]]:
    """Return pairs of hosts that share a network of direct links: each host with the next one."""
    placed = {box.name: box for box in boxes}
    networks: dict[str, list[HostBox]] = {}
    for host in hosts:
        for network in dict.fromkeys(str(ip_interface(link.address).network) for link in host.links):
            networks.setdefault(network, []).append(placed[host.name])
    for network, near in networks.items():
        yield from ((first, second, network) for first, second in pairwise(near))


def _distant(first: HostBox, second: HostBox) -> bool:
    """Return whether there may be boxes between two boxes."""
    return abs(first.column - second.column) > 1


def _link(first: HostBox, second: HostBox, network: str) -> Connector:
    title, level = f"{first.name} and {second.name}: {network}", _HEAD / 2
    left, right = sorted((first, second), key=lambda box: box.column)
    start, end = (left.x + left.width, left.y + level), (right.x, right.y + level)
    if first.column == second.column:
        x, out, y, to_y = first.x, first.x - _MARGIN * 0.7, first.y + level, second.y + level
        path = _curve(x, y, out, x, to_y)
    elif _distant(first, second):
        path = _around(start, end, above=max(left.y, right.y), lane=0)
    else:
        path = _curve(*start, (start[0] + end[0]) / 2, *end)
    return Connector("link", title, path)


def _around(start: tuple[float, float], end: tuple[float, float], *, above: float, lane: int) -> str:
    """Return a path along the first box, above the row and along the second box, so that it crosses no text."""
    away = (1 if end[0] > start[0] else -1) * (_SIDE_DISTANCE + 6 * (lane % 3))
    level = above - 12 - 6 * (lane % 3)
    out, back = start[0] + away, end[0] - away
    return _bent((start, (out, start[1]), (out, level), (back, level), (back, end[1]), end))


def _bent(points: Sequence[tuple[float, float]]) -> str:
    """Return a path through these points, with horizontal and vertical segments and rounded corners."""
    path = "M{:g} {:g}".format(*points[0])
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _towards(corner, before), _towards(corner, after)
        path += "L{:g} {:g}Q{:g} {:g} {:g} {:g}".format(*near, *corner, *far)
    return path + "L{:g} {:g}".format(*points[-1])


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    across, down = other[0] - corner[0], other[1] - corner[1]
    length = abs(across) + abs(down)
    share = min(_CORNER_RADIUS, length / 2) / length if length else 0
    return corner[0] + across * share, corner[1] + down * share


def _curve(x: float, y: float, bend: float, to_x: float, to_y: float) -> str:
    return f"M{x:g} {y:g}C{bend:g} {y:g} {bend:g} {to_y:g} {to_x:g} {to_y:g}"


class _Arrow(NamedTuple):
    """A dependency between two units, with their boxes."""

    source: HostBox
    user: UnitBox
    target: HostBox
    used: UnitBox
    broken: bool


def _arrows(arrows: Sequence[_Arrow]) -> Iterator[Connector]:
    ends: dict[str, int] = {}
    for number, arrow in enumerate(arrows):
        end = f"{arrow.target.name}/{arrow.used.name}"
        ends[end] = ends.get(end, -1) + 1
        # The first line ends in the middle, the next ones above and below it.
        offset = (ends[end] + 1) // 2 * _SPREAD * (1 if ends[end] % 2 else -1)
        yield _arrow_line(arrow, offset=max(-18, min(18, offset)), lane=number)


def _dependencies(hosts: Sequence[HostPlan], boxes: Sequence[HostBox]) -> Iterator[_Arrow]:
    chips = {(box.name, chip.name): (box, chip) for box in boxes for chip in box.chips}
    for host in hosts:
        for unit in _units(host):
            for link in unit.dependencies:
                there = chips.get((link.host or "", link.name))
                if there is not None:
                    yield _Arrow(*chips[host.name, unit.name], *there, broken=link.url is None)


def _arrow_line(arrow: _Arrow, *, offset: float, lane: int) -> Connector:
    kind = "broken" if arrow.broken else "ask"
    title = f"{arrow.user.name} uses {arrow.used.name}" + (", but cannot reach it" if arrow.broken else "")
    y, end = arrow.user.middle, arrow.used.middle + offset
    if arrow.source.column == arrow.target.column:
        x, to_x = arrow.user.x + arrow.user.width, arrow.used.x + arrow.used.width + _ARROW
        out = to_x + 18 + 6 * (lane % 4)
        return Connector(kind, title, _curve(x, y, out, to_x, end), _arrow(to_x, end, -1))
    to_right = arrow.target.column > arrow.source.column
    x = arrow.user.x + arrow.user.width if to_right else arrow.user.x
    tip = arrow.used.x if to_right else arrow.used.x + arrow.used.width
    neck = tip - _ARROW if to_right else tip + _ARROW
    if _distant(arrow.source, arrow.target):
        path = _around((x, y), (neck, end), above=max(arrow.source.y, arrow.target.y), lane=lane)
    else:
        path = _curve(x, y, (x + neck) / 2, neck, end)
    return Connector(kind, title, path, _arrow(neck, end, 1 if to_right else -1))


def _arrow(x: float, y: float, way: int) -> str:
    return f"{x + way * _ARROW:g},{y:g} {x:g},{y - 4.5:g} {x:g},{y + 4.5:g}"
