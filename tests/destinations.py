"""Where the value of each key of an inventory ends up: the generated files that change with it, and what an apply does.

`python tools/docs/destinations.py` records it in destinations.json, and tools/docs/reference.py prints it.
tests/test_nothing_lost.py compares the record with what happens.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.host import settings
from sparkiac.host.local import SECRETS
from sparkiac.host.switch import effective, store
from sparkiac.host.switch.store import PLAN
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import RecipeSource
from tests.everyfield import places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from sparkiac.report.artifact import Artifact
    from tests.everyfield import Place

RECORD: Final = Path(__file__).with_suffix(".json")
FILES: Final = "files"
"""Stands for files whose change needs nothing else."""
LOCK: Final = "lock"
"""Stands for what the lock must hold."""
FINDINGS: Final = "findings"
"""Stands for a value that changes findings only."""
NOTHING: Final = "nothing"
"""Stands for a value that changes nothing on the hosts."""
NO_FILES: Final = frozenset({LOCK, FINDINGS})
_DERIVED: Final = (("host_vars", "group_vars", "generation.json"), ("PLAN.md",))
"""Files that change with others: with all files of a host, and with everything. They count if nothing else changes."""

EXCEPTIONS: Final = {
    "sources": "read by whoever reviews the inventory",
    "platforms.*.gpu.max_clock_mhz": "only under a cap of the clock: it lowers the predicted speed of prompts",
    "platforms.*.installed_gib": "init finds the platform of a machine by it, and hosts name that of theirs",
    "extra_flags.why": "read by whoever reviews the inventory",
    "builds.*.why": "read by whoever reviews the inventory; a build without it is refused",
    "<OpenClawService>.memory_gib": "a configuration file takes no memory; all services share the field",
    # tests/resolve/test_sources.py changes each of these: without a fetched source there is no plan.
    **dict.fromkeys(
        (f"sources.*.{key}" for key in RecipeSource.model_fields),
        "decides which recipes can be named",
    ),
    **dict.fromkeys(
        ("monitoring.prometheus.reachable_from", "monitoring.alertmanager.reachable_from"),
        "listens on loopback unless `bind` says otherwise",
    ),
    "per_host.*.egress": "a node of a group uses the network of its host",
    "container.files.*.why": "shown only while nothing says where the file comes from, and then there is no plan",
}
"""End of a field's place → why nothing depends on its value."""


class Destination(NamedTuple):
    """Where the value of one field ends up."""

    shape: str
    """The inventory of tests/test_nothing_lost.py that shows it."""
    ends: list[str]
    effects: list[str]
    """What an apply does on the hosts."""


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


def effects_of(owner: str, key: str) -> list[str]:
    """Return what an apply does after a change of a key of a class, at all of its places."""
    found = {effect for place in map(str, places_of()[owner, key]) for effect in _recorded_effects(place)}
    return sorted(found - {NOTHING} or found)


def _recorded_effects(place: str) -> list[str]:
    return recorded()[place].effects if place in recorded() else []


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


def effects(one: Iterable[Artifact], two: Iterable[Artifact], named: Collection[str]) -> list[str]:
    """Return what an apply of the second tree does on hosts that run the first; `named` are names of the inventory."""
    before, after = ({each.path: each.content for each in files} for files in (one, two))
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    hosts = {path.split("/")[1] for path in paths if path.startswith("hosts/")}
    found = {effect for host in hosts for effect in _on_host(_below(before, host), _below(after, host), named)}
    found |= {"network.yml" for path in paths if path.startswith("network/")}
    return sorted(found - {FILES} or found) or [NOTHING]


def _below(files: Mapping[str, bytes], host: str) -> dict[str, bytes]:
    root = f"hosts/{host}/"
    return {path.removeprefix(root): content for path, content in files.items() if path.startswith(root)}


def _on_host(before: Mapping[str, bytes], after: Mapping[str, bytes], named: Collection[str]) -> Iterator[str]:
    """Yield what an apply does on one host, with the code that decides on a host what counts in a file."""
    old, new = (json.loads(files[PLAN]) if files else store.NOTHING for files in (before, after))
    former, units = ({unit["name"]: unit for unit in plan["units"]} for plan in (old, new))
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    counting = {path for path in changed if _digest(before, path) != _digest(after, path)}
    for name in former.keys() | units.keys():
        shown = "NAME" if name.removeprefix("sparkiac-") in named else name.removeprefix("sparkiac-")
        unit, other = units.get(name), former.get(name)
        if unit is None or other is None:
            yield f"{'stops' if unit is None else 'starts'} {shown}"
        elif not name.endswith(".timer") and (_inputs(unit) ^ _inputs(other) or counting & _inputs(unit)):
            yield f"restarts {shown}"
        elif unit["promise"] != other["promise"]:
            yield f"asks {shown}"
    set_before, set_after = ({(each["key"], each["value"]) for each in plan["sysctls"]} for plan in (old, new))
    yield from {f"{settings.owner(key)} settings" for key, _ in set_before ^ set_after}
    if any(path.startswith("etc/systemd/") for path in changed - counting):
        yield "reload"
    if changed:
        yield FILES


def _inputs(unit: Mapping[str, Any]) -> set[str]:
    return {*unit["files"], *(f"{SECRETS}/{name}" for name in unit["secrets"])}


def _digest(files: Mapping[str, bytes], path: str) -> str:
    return effective.digest(path, files[path]) if path in files else ""
