"""The keys of every file that a program on a host reads: those which sparkiac writes, and no others."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from sparkiac.host import contract as host_contract
from sparkiac.host.fleet import check as fleet_check
from sparkiac.host.generation import PlacedFile
from sparkiac.host.group import program as group_program
from sparkiac.host.preflight import load_memory
from sparkiac.host.preflight import program as preflight_program
from sparkiac.host.stage import prune as stage_prune
from sparkiac.host.stage import store as stage_store
from sparkiac.host.status import metrics as host_metrics
from sparkiac.host.switch import look as switch_look
from sparkiac.host.switch import store as switch_store
from sparkiac.plan import contract, contract_monitoring, contract_units
from tests.host.expected import complete

ROOT = Path(__file__).parents[2]
NAMES = {
    "Mapping": Mapping,
    "NodeWeights": contract_units.NodeWeights,
    "Promise": contract.Promise,
    "StagedStore": contract_units.StagedStore,
    "UnpinnableMemory": contract_units.UnpinnableMemory,
}
NAMES |= {"Sysctl": contract.Sysctl}
FILES = [
    (preflight_program, "EXPECTED", contract.Expectations),
    (switch_store, "GENERATION", contract.Generation),
    (switch_store, "FILE", PlacedFile),
    (host_metrics, "METRICS", contract_monitoring.HostMetrics),
    (fleet_check, "FLEET", contract_monitoring.FleetCheck),
    (load_memory, "GUARD", contract_units.LoadGuard),
    (group_program, "NODE", contract_units.GroupNode),
    (stage_store, "STORES", list[contract_units.StagedStore]),
    (stage_store, "MANIFEST", contract_units.ModelManifest),
]


def shape(kind: Any) -> Any:  # noqa: ANN401  a type
    """Write a type of the plan as the programs write the shape of its JSON."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return shape(arguments[0]), None
    if origin in {tuple, list}:
        return [shape(arguments[0])]
    if origin is Mapping:
        return {str: shape(arguments[1])}
    if hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind, localns=NAMES)
        return {name: shape(hints[name]) for name in kind._fields}
    return kind


def variables(role: str, file: str, name: str) -> set[str]:
    """Return the keys of an object that a task of a role puts together."""
    tasks = yaml.safe_load((ROOT / f"playbooks/roles/{role}/tasks/{file}").read_text())
    [found] = [task["vars"][name] for task in tasks if name in task.get("vars", {})]
    return set(found)


@pytest.mark.parametrize(("program", "name", "kind"), FILES)
def test_both_sides_have_the_same_keys_and_types(program: ModuleType, name: str, kind: Any) -> None:  # noqa: ANN401
    assert getattr(program, name) == shape(kind)


def test_what_the_playbooks_put_together_has_the_keys_that_the_programs_read() -> None:
    assert set(switch_look.LOOK) == variables("look", "main.yml", "look_tree")
    assert shape(contract.Needs) == stage_prune.NEEDS


def test_every_expectation_has_a_check() -> None:
    preflight = preflight_program
    assert set(preflight.EXPECTED) - {"host", "units"} == {*preflight.CHECKS, *preflight.GPU} - {"nvidia-smi", "start"}


@pytest.fixture
def preflight() -> Any:  # noqa: ANN401  a program
    return preflight_program


def test_misspelt_expectations_fail(preflight: Any, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN401
    """Before any check runs: the host is asked nothing."""
    said = "expectations: this preflight does not know architekture, memory_bites: generate and apply again"
    wanted = {"host": "x", "architekture": "aarch64", "memory_bites": 5}
    with pytest.raises(ValueError, match=f"^{said}$"):
        preflight.check_host(wanted, None)
    assert preflight.main(["--expect-json", json.dumps(wanted)], preflight.LocalHost()) == 1
    assert capsys.readouterr() == ("", f"{said}\n")


WHOLE = {
    "gpu": {"name": "NVIDIA GB10", "compute_capability": "12.1"},
    "ports": [{"address": "127.0.0.1", "port": 1, "unit": "u"}],
    "store": [{"path": "/srv", "models": ["a/b"]}],
    "units": {"chat": {"image": "i"}},
}


@pytest.mark.parametrize("start", [[], ["--start", "chat"]])
@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        (("rack",), "R7", "this preflight does not know rack"),
        (("gpu", "nme"), "x", "this preflight does not know gpu.nme"),
        (("ports", 0, "prt"), 1, "this preflight does not know ports[0].prt"),
        (("units", "chat", "memory"), 1, "this preflight does not know units.chat.memory"),
        (("driver",), ..., "driver is missing"),
        (("gpu", "name"), ..., "gpu.name is missing"),
        (("store", 0, "gated"), ..., "store[0].gated is missing"),
        (("units", "chat", "files"), ..., "units.chat.files is missing"),
        (("ports", 0, "port"), "80", "this preflight expects another type for ports[0].port"),
        (("memory_bytes",), True, "this preflight expects another type for memory_bytes"),
        (("units",), [], "this preflight expects another type for units"),
        (("x\ny",), 1, "this preflight does not know x\\ny"),
    ],
)
def test_each_other_key_stops_the_preflight(  # noqa: PLR0913, PLR0917
    preflight: Any,  # noqa: ANN401
    capsys: pytest.CaptureFixture[str],
    start: list[str],
    place: tuple[Any, ...],
    change: Any,  # noqa: ANN401
    said: str,
) -> None:
    wanted = complete(preflight.EXPECTED, WHOLE)
    *above, key = place
    inner = wanted
    for each in above:
        inner = inner[each]
    inner[key] = change
    if change is ...:
        del inner[key]
    code = preflight.main([*start, "--expect-json", json.dumps(wanted)], preflight.LocalHost())
    assert (code, *capsys.readouterr()) == (1, "", f"expectations: {said}: generate and apply again\n")


@pytest.mark.parametrize(
    ("program", "name", "text"),
    [
        (switch_store, "SYSCTL", '{"kee": "vm.swappiness", "value": "1"}'),
        (stage_store, "STORES", '[{"pth": "/srv"}]'),
    ],
)
def test_another_key_of_another_file_is_named(program: ModuleType, name: str, text: str) -> None:
    validated, known = host_contract.validated, getattr(program, name)
    place = "kee" if name == "SYSCTL" else "[0].pth"
    with pytest.raises(ValueError, match="does not know") as found:
        validated("program", "file", json.loads(text), known)
    assert str(found.value) == f"file: this program does not know {place}: generate and apply again"


DEEP = {
    "lists": "[" * 60_000,
    "lists that end": "[" * 65 + "]" * 65,
    "objects": '{"a":' * 20_000,
    "objects that end": '{"a":' * 65 + "1" + "}" * 65,
    "mixed": '[{"a":' * 40 + "1" + "}]" * 40,
    "beside": "[1, [], {}, " + "[" * 400 + "]" * 400 + "]",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("kind", [str, str.encode])
def test_json_that_is_nested_deeply_is_refused(text: str, kind: Callable[[str], str | bytes]) -> None:
    with pytest.raises(ValueError, match="JSON with more than 64 levels"):
        host_contract.parsed(kind(text))


@pytest.mark.parametrize("text", ["", "{", "[" * 10, b"\xff\xfe\xfd", "9" * 5000, "nul"])
def test_other_text_that_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of json, or of the text
        host_contract.parsed(text)


@pytest.mark.parametrize(
    "value", [None, 1, "[" * 1000, {"a": [1, {"b": "{" * 200}]}, [[]] * 1000, [{"a": {}}, "ab", 2.5, True]]
)
def test_other_json_is_read(value: object) -> None:
    assert host_contract.parsed(json.dumps(value)) == value
    assert host_contract.parsed("[" * 64 + "]" * 64)
