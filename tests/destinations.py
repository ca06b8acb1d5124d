"""Where the value of each key of an inventory ends up: the generated files that change with it.

`python tools/docs/destinations.py` records it in destinations.json, and tools/docs/reference.py prints it.
tests/test_nothing_lost.py compares the record with what happens.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import RecipeSource
from tests.everyfield import places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.report.artifact import Artifact
    from tests.everyfield import Place

RECORD: Final = Path(__file__).with_suffix(".json")
LOCK: Final = "lock"
"""Stands for what the lock must hold."""
FINDINGS: Final = "findings"
"""Stands for a value that changes findings only."""
NO_FILES: Final = frozenset({LOCK, FINDINGS})
_DERIVED: Final = (("host_vars", "group_vars", "generation.json"), ("PLAN.md",))
"""Files that change with others: with all files of a host, and with everything. They count if nothing else changes."""

EXCEPTIONS: Final = {
    "sources": "read by whoever reviews the inventory",
    "allow.*.reason": "read by whoever reviews the inventory; a waiver without a reason is refused",
    "extra_flags.why": "read by whoever reviews the inventory",
    "builds.*.why": "read by whoever reviews the inventory; a build without it is refused",
    "<OpenClawService>.memory_gib": "a configuration file takes no memory; all services share the field",
    # tests/resolve/test_sources.py changes each of these: without a fetched source there is no plan.
    **dict.fromkeys(
        (f"sources.*.{key}" for key in RecipeSource.model_fields),
        "decides which recipes can be named",
    ),
    "container.files.*.why": "shown only while nothing says where the file comes from, and then there is no plan",
}
"""End of a field's place → why nothing depends on its value."""


class Destination(NamedTuple):
    """Where the value of one field ends up."""

    shape: str
    """The inventory of tests/test_nothing_lost.py that shows it."""
    ends: list[str]


@cache
def recorded() -> dict[str, Destination]:
    """Return place of a field → its destination."""
    return {place: Destination(*found) for place, found in json.loads(RECORD.read_text()).items()}


def of(owner: str, key: str) -> list[str]:
    """Return where a key of a class ends up, at all of its places, or why it ends up nowhere."""
    found: set[str] = set()
    for place in map(str, places_of()[owner, key]):
        reasons = {reason for end, reason in EXCEPTIONS.items() if place.endswith(end)}
        found |= reasons or set(recorded()[place].ends if place in recorded() else ())
    return sorted(found)


@cache
def places_of() -> dict[tuple[str, str], list[Place]]:
    """Return class and key → the places of the key."""
    found: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in places(Inventory):
        found[place.owner.__name__, place.steps[-1].key].append(place)
    return found


def write(found: dict[str, Destination]) -> None:
    """Write the record: one line for each field."""
    lines = (f"{json.dumps(place)}: {json.dumps(each)}" for place, each in sorted(found.items()))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def ends(one: Iterable[Artifact], two: Iterable[Artifact]) -> list[str]:
    """Return the names of the files that differ; one name for the same file of several hosts or units."""
    before, after = ({each.path: each.content for each in files} for files in (one, two))
    found = {name(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    for derived in _DERIVED:
        found = (found - {*derived}) or found
    return sorted(found)


def name(path: str) -> str:
    """Return the name of a generated file without those of hosts, units and models."""
    first, last = path.partition("/")[0], path.rpartition("/")[2]
    if first != "hosts":
        return first
    unit = re.fullmatch(r"sparkiac-.+(\.[a-z]+)", last)
    return f"sparkiac-NAME{unit[1]}" if unit else last
