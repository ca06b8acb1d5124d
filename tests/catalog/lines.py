"""What a regular expression may cost on one line: an upper bound, counted without running it."""

from __future__ import annotations

import re
from math import inf
from re import _constants as op  # the parser that the standard library compiles with; it has no public door
from re import _parser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Node = tuple[object, object]


class NestedError(ValueError):
    """A repetition inside a repetition, whose ways multiply."""


def ways(pattern: str) -> float:
    """Return the number of ways to try a pattern from one start of a line; infinite where a repetition has no end."""
    return _sequence(_parser.parse(pattern), inside=False)


def _sequence(nodes: Iterable[Node], *, inside: bool) -> float:
    product: float = 1
    for node in nodes:
        product *= _one(node, inside=inside)
    return product


def _one(node: Node, *, inside: bool) -> float:
    kind, argument = node
    match kind, argument:
        case ((op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT), (least, most, body)):
            if inside:
                raise NestedError(kind)
            count = inf if most is op.MAXREPEAT else most - least + 1
            return count * _sequence(body, inside=most != 1)
        case op.BRANCH, (_, branches):
            return sum(_sequence(branch, inside=inside) for branch in branches)
        case op.SUBPATTERN, (_, _, _, body):
            return _sequence(body, inside=inside)
        case ((op.ASSERT | op.ASSERT_NOT), (_, body)):
            return _sequence(body, inside=inside)
        case ((op.LITERAL | op.NOT_LITERAL | op.IN | op.ANY | op.AT), _):
            return 1
    message = f"{kind} is not counted"
    raise NotImplementedError(message)


def alternatives(pattern: str) -> list[str]:
    """Cut a pattern at those | that stand in no bracket."""
    parts, depth, inside = [""], 0, False
    for piece in re.findall(r"\\.|.", pattern):
        inside = piece != "]" if inside else piece == "["
        depth += 0 if inside else (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0 and not inside:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
