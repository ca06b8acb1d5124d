"""Nobody is bound to sparkiac, nor to another tool: a deployment that goes there and comes back means the same.

The text is imported as it was exported, the deployment takes its place in the same inventory, and a lock pins all of
it again. What a text cannot say is said again: the name of a build whose image it has by its ID, the source of a file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import engines, foreign
from sparkiac.foreign import assemble, redaction
from tests.catalog.test_reference import ENTRIES, USABLE, host, inventory
from tests.engines.corpus import CORPUS, files
from tests.exporters.roundtrip import NAME, Trip, of_entry, of_fleet, plain

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.plan import Container

_NODE_ADDRESS: Final = "VLLM_HOST_IP"
"""Of a group, an import gives every node the address that the first one's command has."""
_KNOWN_LOSSES: Final = ("model /model/",)
"""A drafter that lies in the target's own directory."""
_NAMED: Final = re.compile(r"not exported: (?:mount \S+ at (?P<mount>\S+)$|model_path (?P<model>\S+): )")
_VLLM: Final = [name for name in USABLE if ENTRIES[name].recipe.engine == "vllm"]
_RUN: Final = [name for name in USABLE if engines.named(ENTRIES[name].recipe.engine).sparkrun]


def means(container: Container) -> dict[str, Any]:
    """Return what a container does, independent of the order of its options."""
    env = {name: value for name, value in container.command.env.items() if name != _NODE_ADDRESS}
    timeouts, server = container.timeouts, container.server
    return {
        "argv": sorted(container.argv),
        "image": container.image.pull,
        "env": env,
        "prelude": container.command.pre_start,
        "network": (container.network.published, container.network.listen),
        "confinement": container.confinement,
        "storage": (container.storage.mounts, container.storage.files),
        "timeouts": (timeouts.ready_s, timeouts.stop_s),
        "server": (server.served, server.model),
    }


def assert_same(trip: Trip) -> None:
    assert [means(each) for each in trip.before] == [means(each) for each in trip.after]
    assert compared(trip.first.text) == compared(trip.second.text)
    assert [each for each in trip.lost if not each.startswith(_KNOWN_LOSSES)] == []


def compared(text: str) -> list[str]:
    """Return the lines of an export, without what an import cannot bring back."""
    return [line for line in text.splitlines() if not (_NODE_ADDRESS in line or line.startswith("# not exported:"))]


def told(container: Container, trip: Trip) -> dict[str, Any]:
    """Return what a container does, without the mounts and the path of the model whose loss the export names."""
    found, noted = means(container), [re.match(_NAMED, note) for note in trip.first.notes]
    moved = {note["model"]: container.server.model for note in noted if note and note["model"]}
    left = {note["mount"] for note in noted if note} | {*moved}
    argv = (moved.get(word, word) for word in container.argv if not (moved and word.startswith("--revision=")))
    stored = [each for kind in found["storage"] for each in kind if each.target not in left]
    return found | {"argv": sorted(map(str, argv)), "storage": stored}


@pytest.mark.parametrize("kind", ["docker-run", "compose"])
@pytest.mark.parametrize("name", USABLE)
def test_a_catalog_entry_means_the_same_after_export_and_import(name: str, kind: str) -> None:
    assert_same(of_entry(ENTRIES[name], kind))


@pytest.mark.parametrize(("kind", "name"), [("eugr", name) for name in _VLLM] + [("sparkrun", name) for name in _RUN])
def test_a_recipe_names_all_that_does_not_come_back(kind: str, name: str) -> None:
    """Such a recipe says less than a deployment; its comments tell what. All that it says comes back."""
    trip = of_entry(ENTRIES[name], kind)
    assert yaml.safe_load(trip.first.text) == yaml.safe_load(trip.second.text)
    assert [told(each, trip) for each in trip.before] == [told(each, trip) for each in trip.after]


@pytest.mark.skipif(not files(), reason="the recipes of other people are not here")
@pytest.mark.parametrize("kind", foreign.EXPORTED)
@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(CORPUS)))
def test_a_recipe_by_somebody_else_means_the_same_after_import_export_and_import(path: Path, kind: str) -> None:
    fleet = imported(path)
    if kind == "eugr" and fleet["deployments"][NAME]["recipe"] == "base/sglang":
        with pytest.raises(foreign.ExportError, match="only runs vLLM"):
            of_fleet(fleet, kind)
        return
    trip = of_fleet(fleet, kind)
    if kind in {"docker-run", "compose"}:
        assert_same(trip)
    assert [told(each, trip) for each in trip.before] == [told(each, trip) for each in trip.after]


def imported(path: Path) -> dict[str, Any]:
    """Import a recipe into an inventory of reference hosts."""
    text = path.read_text(encoding="utf-8")
    kind = foreign.recognised(text, path.name)
    assert kind is not None
    launches = foreign.importer(kind).read(text, name=path.name)
    [(_, entry)] = assemble.entries([(path.name, launch) for launch in launches], redaction.secret_values(text))
    hosts = {f"spark-0{number}": host(number) for number in range(1, entry.nodes + 1)}
    deployment = {"port": 8001} | plain(entry.data) | {"hosts": [*hosts] if entry.nodes > 1 else "spark-01"}
    return {
        "name": "reference",
        "defaults": {"model_store": "/srv/models"},
        "hosts": hosts,
        "deployments": {NAME: deployment},
    }


@pytest.mark.parametrize("kind", ["docker-run", "compose"])
def test_a_key_comes_back_as_a_reference_under_the_name_that_imports_give(kind: str) -> None:
    """Its own name is in no text: a variable of the server has a name already."""
    fleet = inventory(ENTRIES["base/single-spark"], port=8001, api_key={"secret": "team_key"})
    trip = of_fleet(fleet, kind)
    assert trip.fleet["deployments"][NAME]["api_key"] == {"secret": "vllm_api_key"}
    assert_same(trip)


def test_every_format_has_its_module() -> None:
    assert {*foreign.EXPORTED} == {"docker-run", "compose", "eugr", "sparkrun"}
    assert all(foreign.exporter(kind).write for kind in foreign.EXPORTED)
