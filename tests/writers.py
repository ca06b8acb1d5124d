"""What each target makes of a field of an inventory: whether its files have it, its notes tell of it, or neither."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from sparkiac import foreign, pipeline, source
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock
from sparkiac.plan import build, unwritten
from sparkiac.render.kubernetes import KubernetesError
from sparkiac.resolve import resolve
from tests.everyfield import places
from tests.plan.fleets import LOCK
from tests.test_nothing_lost import pair, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from tests.everyfield import Place

TARGETS: Final = (*foreign.EXPORTED, "kubernetes")
WRITTEN: Final = "written"
TOLD: Final = "told"
SILENT: Final = "silent"
_SHAPES: Final = ("solo", "group", "variant", "no recipe", "llama.cpp", "host memory", "platform")
"""Inventories of tests/test_nothing_lost.py that show a field in files of the targets."""
_LOCK: Final = source.load(LOCK.encode(), name="lab.lock.yaml", model=Lock).valid
_COMMENT: Final = re.compile(r"^#.*\n", re.MULTILINE)


def fields() -> Iterator[tuple[str, Place]]:
    """Return the keys of a deployment and of a host, as `plan/unwritten.py` names them."""
    for place in places(Inventory):
        section, _, key = re.sub(r"<\w+>", "", str(place)).partition(".*.")
        if section in {"deployments", "hosts"} and not key.startswith("per_host") and told(place):
            yield (key if section == "deployments" else f"{section}.{key}"), place


def states(place: Place) -> dict[str, str]:
    """Return what each target makes of two values of a field, in the inventory in which it makes most of it."""
    found = dict.fromkeys(TARGETS, SILENT)
    for shape in _SHAPES:
        texts = pair(shape, place)
        plans = [planned(text) for text in texts or ()]
        for target in TARGETS:
            if None not in plans and texts and found[target] != WRITTEN:
                found[target] = _state(texts, target) or found[target]
        if set(found.values()) == {WRITTEN}:
            break
    return found


def _state(texts: tuple[str, str], target: str) -> str:
    (one, told_one), (two, told_two) = (output(text, target) for text in texts)
    return WRITTEN if one != two else TOLD if told_one != told_two else ""


@cache
def planned(text: str) -> Plan | None:
    """Plan an inventory; nothing if it is invalid."""
    inventory = source.load(text.encode(), name="lab.yaml", model=Inventory)
    if inventory.value is None:
        return None
    _, found = resolve(inventory, _LOCK)
    return None if found is None else build(found)


@cache
def output(text: str, target: str) -> tuple[str, str]:
    """Return the files of a target, and what they do not have."""
    plan = planned(text)
    assert plan is not None
    return _kubernetes(plan) if target == "kubernetes" else _exported(plan, target)


def _kubernetes(plan: Plan) -> tuple[str, str]:
    try:
        found = pipeline.render_kubernetes(plan)
    except KubernetesError as error:
        return "", str(error)
    files = {each.path: each.content.decode() for each in found.artifacts}
    notes = files.pop("NOTES.md")
    return str(files), notes


def _exported(plan: Plan, target: str) -> tuple[str, str]:
    names = sorted({each.name for _, each in plan.containers if each.kind == "deployment"})
    bodies, notes = [], []
    for name in names:
        try:
            found = foreign.exporter(target).write(foreign.nodes(plan, name))
        except foreign.ExportError as error:
            notes.append(str(error))
        else:
            bodies.append(_COMMENT.sub("", found.text))
            notes += found.notes
    return str(bodies), str(notes)


def unanswered(key: str, place: Place) -> list[str]:
    """Return the targets that neither write a field nor refuse it by name."""
    return [target for target, state in states(place).items() if state == SILENT and not unwritten.refuses(target, key)]
