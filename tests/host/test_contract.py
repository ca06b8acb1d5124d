"""The keys of every file that a program on a host reads: those which sparkiac writes, and no others."""

from __future__ import annotations

import ast
import hashlib
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkiac.host import contract as host_contract
from sparkiac.host.fleet.settings import FleetCheck
from sparkiac.host.generation import GenerationPlan, GroupNode, HostMetrics, Promise, StagedStore, Sysctl
from sparkiac.host.preflight import program as preflight_program
from sparkiac.host.preflight.expectations import Expectations
from sparkiac.host.switch import look as switch_look
from tests.every import every
from tests.host import tree
from tests.host.expected import complete

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
RECORDS = {
    "preflight.json": Expectations,
    "generation.json": GenerationPlan,
    "metrics.json": HostMetrics,
    "fleet.json": FleetCheck,
    "group.json": GroupNode,
    "promise.json": Promise,
}
UNIT = "etc/systemd/system/sparkiac-qwen36.service"
CONFIGURED = GOLDEN.glob("*/expected/hosts/*/etc/sparkiac/**/*.json")
FILES = sorted(path for path in CONFIGURED if path.name in RECORDS and "grafana" not in path.parts)


def compared(folder: Path, secrets: dict[str, str]) -> list[Any]:
    """Return the lines of JSON that the comparison of a host reads, as the playbooks put them together."""
    tree.build(folder, checkout=ROOT, real=True)
    files = ("group_vars/all.yml", "host_vars/spark-01/main.yml", "host_vars/spark-01/hashes.yml")
    known = {key: value for file in files for key, value in yaml.safe_load((folder / file).read_text()).items()}
    plan = folder / "hosts/spark-01/etc/sparkiac/generation.json"
    plan.write_text(plan.read_text().replace('"files": []', f'"files": ["{UNIT}"]'))
    controller = {"owner": "ann@desk", "running": [], "take_over": False}
    known |= {"begin_salt": "salt", "begin_controller": controller, "playbook_dir": str(folder / "playbooks")}
    module = runpy.run_path(str(folder / "playbooks/roles/look/action_plugins/sparkiac_look.py"))
    _, *found = module["standard_input"](secrets, "/", known).splitlines()
    return [json.loads(line) for line in found]


def test_there_are_files_of_each_kind() -> None:
    assert {path.name for path in FILES} == set(RECORDS)


@every(FILES)
def test_the_programs_accept_every_file_that_was_generated(path: Path) -> None:
    value = json.loads(path.read_text())
    assert host_contract.validated("program", path.name, value, RECORDS[path.name]) is value


def test_the_comparison_gets_the_keys_that_it_reads_and_hashes_of_the_given_secrets(tmp_path: Path) -> None:
    *_, wanted = compared(tmp_path, {"vllm_api_key": "secret", "vllm_api_key.previous": "s", "other": "not here"})
    assert host_contract.validated("program", "look", wanted, switch_look.LOOK) is wanted
    hashes = {"vllm_api_key": b"saltsecret", "vllm_api_key.previous": b"salts"}
    assert wanted["secrets"]["hashes"] == {name: hashlib.sha256(each).hexdigest() for name, each in hashes.items()}
    assert wanted["texts"] == {UNIT: "[Service]\n"}


def test_the_comparison_gets_the_modules_that_it_imports_and_no_others(tmp_path: Path) -> None:
    name, modules, arguments, _ = compared(tmp_path, {})
    program = "import sys, host.switch.look as look; print([each for each in sys.modules if each.startswith('host')])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "sparkiac", check=True, capture_output=True, text=True
    )
    files = {f"{each.replace('.', '/')}.py" for each in ast.literal_eval(done.stdout)}
    packages = {f"{each}.py": f"{each}/__init__.py" for each in ("host", "host/stage", "host/switch")}
    assert set(modules) == {packages.get(each, each) for each in files}
    assert (name, arguments) == ("host.switch.look", ["/"])


def test_every_expectation_has_a_check() -> None:
    preflight = preflight_program
    assert {*Expectations._fields} - {"host", "units"} == {*preflight.CHECKS, *preflight.GPU} - {"nvidia-smi", "start"}


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
    wanted = complete(Expectations, WHOLE)
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
    ("record", "text", "place"),
    [
        (Sysctl, '{"kee": "vm.swappiness", "value": "1"}', "kee"),
        (list[StagedStore], '[{"pth": "/srv"}]', "[0].pth"),
    ],
)
def test_another_key_of_another_file_is_named(record: Any, text: str, place: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match="does not know") as found:
        host_contract.validated("program", "file", json.loads(text), record)
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
