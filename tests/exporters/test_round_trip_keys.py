"""Each key of a deployment comes back from an export and an import, or the loss is named."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import foreign
from sparkiac.plan import unwritten
from tests import writers
from tests.everyfield import choices, put
from tests.exporters.roundtrip import NAME, containers, imported, plain, planned
from tests.exporters.test_round_trip import means
from tests.test_nothing_lost import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.everyfield import Place

KINDS: Final = ("docker-run", "compose")
NAMES: Final = frozenset({"recipe", "variant", "fragments", "engine", "executor", "hosts"})
"""Names of entries and of hosts; test_round_trip.py takes every entry of the catalog there and back."""
BESIDE: Final[dict[str, dict[str, Any]]] = {"container.shm_size_gib": {"container": {"ipc": "private"}}}
"""Key → further values without which it has no effect."""
FIELDS: Final = {key: place for key, place in writers.fields() if not key.startswith("hosts.") and key not in NAMES}
CASES: Final = [(key, kind) for key in FIELDS for kind in KINDS if not unwritten.refuses(kind, key)]


def fleets(key: str, place: Place) -> Iterator[dict[str, Any]]:
    """Return inventories with two values of a key, of the first shape whose files differ."""
    for shape in ("solo", "llama.cpp"):
        both = []
        for value in choices(place.owner, place.steps[-1].key, place.hint)[:2]:
            fleet = yaml.safe_load(SHAPES[shape])
            fleet["deployments"][NAME] |= copy.deepcopy(BESIDE.get(key, {}))
            put(fleet, place.steps, value)
            both.append(fleet)
        texts = [yaml.safe_dump(fleet) for fleet in both]
        if all(map(writers.planned, texts)) and len({writers.output(text, "docker-run") for text in texts}) > 1:
            yield from both
            return


@pytest.mark.parametrize(("key", "kind"), CASES)
def test_a_key_comes_back_or_its_loss_is_named(key: str, kind: str) -> None:
    found = [*fleets(key, FIELDS[key])]
    assert found, f"no inventory shows {key}: add a value that it needs to BESIDE"
    for fleet in found:
        before = planned(fleet)
        exported = foreign.exporter(kind).write(foreign.nodes(before, NAME))
        entry = imported(exported.text)
        own = {"hosts": fleet["deployments"][NAME]["hosts"]} | ({"model_store": entry.store} if entry.store else {})
        drafted = fleet | {"deployments": {NAME: plain(entry.data) | own}}
        last = key.rpartition(".")[2]
        named = [each for each in entry.notes if each.what.endswith(last) or each.what.startswith(f"--{last} ")]
        told = [note for note in exported.notes if key.partition(".")[0] in note or "fetch " in note]
        same = [means(each) for each in containers(before)] == [means(each) for each in containers(planned(drafted))]
        assert same or named or told, f"{key}: {entry.data}"
