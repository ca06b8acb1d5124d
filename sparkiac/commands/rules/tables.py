"""Rules as a table and as pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from sparkiac.formats.terminal import NARROW, grid, heading, stacked, table

Data = dict[str, Any]

_COLOURS: Final = {"error": "red", "warning": "yellow", "info": "cyan"}


def listed(rules: Iterable[Data], levels: Iterable[Data], *, width: int) -> Iterator[RenderableType]:
    """Return a table of codes, and below it the profiles."""
    if width < NARROW:
        yield grid((stacked(f"{each['code']} {each['slug']}", each["title"], _facts(each)),) for each in rules)
    else:
        fixed = ("code", "severity", "profile", "waivable", "since")
        made = table("code", "what is wrong", *fixed[1:], whole=fixed)
        for each in rules:
            severity = Text(each["severity"], style=_COLOURS[each["severity"]])
            waivable = "yes" if each["waivable"] else "no"
            names = stacked(each["slug"], each["title"])
            made.add_row(
                Text(each["code"]),
                names,
                severity,
                *map(Text, (each["profile"] or each["phase"], waivable, each["since"])),
            )
        yield made
    yield heading("Profiles: each includes the ones before it")
    yield grid((each["name"], each["title"]) for each in levels)
    yield Text(
        "\nSymptoms of running servers, which `sparkiac diagnose` finds, have pages too: sparkiac rules explain LOG101"
    )


def _facts(rule: Data) -> str:
    waivable = "can be waived" if rule["waivable"] else "cannot be waived"
    return f"{rule['severity']}, {rule['profile'] or rule['phase']}, {waivable}, since {rule['since']}"
