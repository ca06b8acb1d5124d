"""The fleet as a drawing: where boxes and lines go. Lengths are pixels of the drawing, texts are cut to their boxes.

Hosts stand in rows. Direct links run between boxes, and what asks what from one unit to another one.
"""

from __future__ import annotations

from ipaddress import ip_interface
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.plan.dependents import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sparkiac.plan import Container, HostPlan
    from sparkiac.plan.dependents import Program

_MARGIN: Final = 44
_EDGE: Final = 6
_CROWN: Final = 34
"""Room above the first row for lines that pass over a box."""
_UNUSED: Final = _CROWN - _EDGE
_BEND: Final = 9
_ASIDE: Final = 26
"""How far from a box a line runs along it."""
_HEAD: Final = 62
_CHIP: Final = 46
_BETWEEN: Final = 10
_PAD: Final = 14
_ROWS: Final = 44
_ARROW: Final = 7
_SPREAD: Final = 9
_LETTER: Final = 7.4
"""Widest average of a letter of 13 pixels, in the fonts that systems have; bold ones take a tenth more."""


class UnitBox(NamedTuple):
    """A unit, or a configuration file."""

    name: str
    title: str
    below: str
    kind: str
    """`deployment`, `service`, `program` or `document`."""
    x: float
    y: float
    width: float
    height: float = _CHIP

    @property
    def middle(self) -> float:
        """Its height in the drawing, where lines end."""
        return self.y + self.height / 2


class HostBox(NamedTuple):
    """A host."""

    name: str
    title: str
    below: str
    x: float
    y: float
    width: float
    height: float
    column: int
    row: int
    chips: tuple[UnitBox, ...]


class Connector(NamedTuple):
    """A line with what it means."""

    kind: str
    """`link`, `ask`, or `broken` for what cannot be reached."""
    title: str
    path: str
    arrow: str = ""
    """Corners of its head."""


class Drawing(NamedTuple):
    """All of it."""

    top: float
    width: float
    height: float
    boxes: tuple[HostBox, ...]
    links: tuple[Connector, ...]
    asks: tuple[Connector, ...]


def draw(hosts: Sequence[HostPlan], *, columns: int, box: int, gap: int) -> Drawing:
    """Draw hosts in rows of `columns`, boxes `box` wide and `gap` apart."""
    boxes, top = [], float(_CROWN)
    for first in range(0, len(hosts), columns):
        row = hosts[first : first + columns]
        height = max(_height(host) for host in row)
        for column, host in enumerate(row):
            place = (_MARGIN + column * (box + gap), top, box, height, column, first // columns)
            boxes.append(_box(host, place))
        top += height + _ROWS
    drawn = tuple(boxes)
    near, wanted = tuple(_near(hosts, drawn)), tuple(_wanted(hosts, drawn))
    pairs = (*((first, second) for first, second, _ in near), *((ask.source, ask.target) for ask in wanted))
    above = 0 if any(_far(first, second) and max(first.row, second.row) == 0 for first, second in pairs) else _UNUSED
    width = 2 * _MARGIN + min(columns, len(hosts)) * (box + gap) - gap
    links = tuple(_link(*each) for each in near)
    return Drawing(above, width, top - _ROWS + _EDGE - above, drawn, links, tuple(_asks(wanted)))


def _units(host: HostPlan) -> tuple[Container | Program | ConfigFile, ...]:
    return (*host.units, *host.config_files)


def _height(host: HostPlan) -> float:
    return _HEAD + max(1, len(_units(host))) * (_CHIP + _BETWEEN) + _PAD - _BETWEEN


def _box(host: HostPlan, place: tuple[float, float, int, float, int, int]) -> HostBox:
    x, y, width, *_ = place
    inner = width - 2 * _PAD
    chips = tuple(
        _chip(each, x + _PAD, y + _HEAD + number * (_CHIP + _BETWEEN), inner)
        for number, each in enumerate(_units(host))
    )
    title, below = _cut(host.name, inner, 1.25), _cut(f"{host.address} · {host.platform_name}", inner, 0.85)
    return HostBox(host.name, title, below, *place, chips)


def _chip(each: Container | Program | ConfigFile, x: float, y: float, width: float) -> UnitBox:
    kind = "document" if isinstance(each, ConfigFile) else getattr(each, "kind", "program")
    inner = width - 2 * _PAD
    return UnitBox(each.name, _cut(each.name, inner, 1.1), _cut(_below(each), inner, 0.85), kind, x, y, width)


def _below(each: Container | Program | ConfigFile) -> str:
    if isinstance(each, ConfigFile):
        return f"/{each.file}"
    node = getattr(each, "node", None)
    port = f":{each.network.listen[1]}" if each.network.listen else ""
    rank = f"node {node[0] + 1} of {node[1]}" if node else ""
    return " · ".join(word for word in (port, rank or ", ".join(each.server.served)) if word) or each.description


def _cut(text: str, width: float, size: float) -> str:
    """Cut a text to a width, as far as that is known without the viewer's font."""
    most = int(width / (_LETTER * size))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _near(hosts: Sequence[HostPlan], boxes: Sequence[HostBox]) -> Iterator[tuple[HostBox, HostBox, str]]:
    """Give the hosts that share a network of direct links, each with the next one."""
    placed = {box.name: box for box in boxes}
    networks: dict[str, list[HostBox]] = {}
    for host in hosts:
        for network in dict.fromkeys(str(ip_interface(link.address).network) for link in host.links):
            networks.setdefault(network, []).append(placed[host.name])
    for network, near in networks.items():
        yield from ((first, second, network) for first, second in pairwise(near))


def _far(first: HostBox, second: HostBox) -> bool:
    """Whether boxes lie between."""
    return abs(first.column - second.column) > 1


def _link(first: HostBox, second: HostBox, network: str) -> Connector:
    title, level = f"{first.name} and {second.name}: {network}", _HEAD / 2
    left, right = sorted((first, second), key=lambda box: box.column)
    start, end = (left.x + left.width, left.y + level), (right.x, right.y + level)
    if first.column == second.column:
        x, out, y, to_y = first.x, first.x - _MARGIN * 0.7, first.y + level, second.y + level
        path = f"M{x:g} {y:g}C{out:g} {y:g} {out:g} {to_y:g} {x:g} {to_y:g}"
    elif _far(first, second):
        path = _around(start, end, above=max(left.y, right.y), lane=0)
    else:
        path = _across(*start, *end)
    return Connector("link", title, path)


def _around(start: tuple[float, float], end: tuple[float, float], *, above: float, lane: int) -> str:
    """Lead a line beside the first box, above a row and beside the other box, so that it crosses no text."""
    away = (1 if end[0] > start[0] else -1) * (_ASIDE + 6 * (lane % 3))
    level = above - 12 - 6 * (lane % 3)
    out, back = start[0] + away, end[0] - away
    return _bent((start, (out, start[1]), (out, level), (back, level), (back, end[1]), end))


def _bent(points: Sequence[tuple[float, float]]) -> str:
    """Draw a line through points, one beside or above the other, with round corners."""
    path = "M{:g} {:g}".format(*points[0])
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _towards(corner, before), _towards(corner, after)
        path += "L{:g} {:g}Q{:g} {:g} {:g} {:g}".format(*near, *corner, *far)
    return path + "L{:g} {:g}".format(*points[-1])


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    across, down = other[0] - corner[0], other[1] - corner[1]
    length = abs(across) + abs(down)
    share = min(_BEND, length / 2) / length if length else 0
    return corner[0] + across * share, corner[1] + down * share


def _across(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (x + to_x) / 2
    return f"M{x:g} {y:g}C{half:g} {y:g} {half:g} {to_y:g} {to_x:g} {to_y:g}"


class _Ask(NamedTuple):
    source: HostBox
    asker: UnitBox
    target: HostBox
    asked: UnitBox
    broken: bool


def _asks(wanted: Sequence[_Ask]) -> Iterator[Connector]:
    ends: dict[str, int] = {}
    for number, ask in enumerate(wanted):
        end = f"{ask.target.name}/{ask.asked.name}"
        ends[end] = ends.get(end, -1) + 1
        # The first line ends in the middle, the next ones above and below it.
        offset = (ends[end] + 1) // 2 * _SPREAD * (1 if ends[end] % 2 else -1)
        yield _ask(ask, offset=max(-18, min(18, offset)), lane=number)


def _wanted(hosts: Sequence[HostPlan], boxes: Sequence[HostBox]) -> Iterator[_Ask]:
    chips = {(box.name, chip.name): (box, chip) for box in boxes for chip in box.chips}
    for host in hosts:
        for asker in _units(host):
            for link in asker.dependencies:
                there = chips.get((link.host or "", link.name))
                if there is not None:
                    yield _Ask(*chips[host.name, asker.name], *there, broken=link.url is None)


def _ask(ask: _Ask, *, offset: float, lane: int) -> Connector:
    kind = "broken" if ask.broken else "ask"
    title = f"{ask.asker.name} asks {ask.asked.name}" + (", which it cannot reach" if ask.broken else "")
    y, end = ask.asker.middle, ask.asked.middle + offset
    if ask.source.column == ask.target.column:
        x, to_x = ask.asker.x + ask.asker.width, ask.asked.x + ask.asked.width + _ARROW
        out = to_x + 18 + 6 * (lane % 4)
        return Connector(
            kind, title, f"M{x:g} {y:g}C{out:g} {y:g} {out:g} {end:g} {to_x:g} {end:g}", _arrow(to_x, end, -1)
        )
    to_right = ask.target.column > ask.source.column
    x = ask.asker.x + ask.asker.width if to_right else ask.asker.x
    tip = ask.asked.x if to_right else ask.asked.x + ask.asked.width
    neck = tip - _ARROW if to_right else tip + _ARROW
    if _far(ask.source, ask.target):
        path = _around((x, y), (neck, end), above=max(ask.source.y, ask.target.y), lane=lane)
    else:
        path = _across(x, y, neck, end)
    return Connector(kind, title, path, _arrow(neck, end, 1 if to_right else -1))


def _arrow(x: float, y: float, way: int) -> str:
    return f"{x + way * _ARROW:g},{y:g} {x:g},{y - 4.5:g} {x:g},{y + 4.5:g}"
