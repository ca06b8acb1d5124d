"""`on`, the former name of the key `hosts`, leads to the same fleet; messages point at the key in the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
import yaml
from jsonschema import Draft202012Validator

from sparkiac import pipeline
from sparkiac.fix.edits import edited
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import json_schema
from sparkiac.report import Edit
from sparkiac.resolve import explain
from tests.conftest import ROOT
from tests.plan.fleets import PAIR, checked, deployment, resolved, service
from tests.source.reading import FLEET, SHIPPED, findings, only, source

if TYPE_CHECKING:
    from pathlib import Path

ENTRY: Final = f"{FLEET}deployments:\n  d: {{recipe: a/b, %s}}\n"
FULL: Final = ("monitoring", "pair", "services", "fleet-timer")
"""Golden inventories with the key in deployments of one host and of several, in services and in the monitoring."""
INVENTORIES: Final = [path for path in SHIPPED if ".lock." not in path.name]


def former(text: str) -> str:
    """Write `on` for each key `hosts` that is not the one at the top."""
    return text.replace(" hosts:", " on:").replace("{hosts:", "{on:")


def artifacts(text: str, lock: Path) -> dict[str, bytes]:
    pins = pipeline.InputFile("lock.yaml", lock.read_bytes()) if lock.exists() else None
    plan = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), pins, allow_unlocked=True).plan
    assert plan is not None
    return {each.path: each.content for each in pipeline.render(plan)}


@pytest.mark.parametrize("name", FULL)
def test_the_generated_files_are_the_same(name: str) -> None:
    folder = ROOT / "tests/golden" / name
    text = (folder / "inventory.yaml").read_text()
    lock = folder / "inventory.lock.yaml"
    assert former(text) != text
    assert artifacts(former(text), lock) == artifacts(text, lock)


def test_it_is_renamed_where_hosts_are_named_and_nowhere_else() -> None:
    places = "monitoring: {prometheus: {on: a}, grafana: {on: b}, timer: {on: c}, alerts: {on: d}}\n"
    text = f"on: x\ndeployments: {{d: {{on: [a], env: {{on: y}}}}}}\nservices: {{s: {{on: a}}}}\n{places}"
    document = source(text).document
    assert document.data == {
        "on": "x",
        "deployments": {"d": {"hosts": ("a",), "env": {"on": "y"}}},
        "services": {"s": {"hosts": "a"}},
        "monitoring": {
            "prometheus": {"hosts": "a"},
            "grafana": {"hosts": "b"},
            "timer": {"hosts": "c"},
            "alerts": {"on": "d"},
        },
    }


@pytest.mark.parametrize("key", ["on", '"on"', "'on'", "hosts"])
def test_a_message_points_at_the_key_that_is_in_the_file(key: str) -> None:
    finding = only(ENTRY % f"{key}: 5")
    assert finding.message == "deployments.d.hosts: must be a text or a list, not the number 5"
    assert finding.loc is not None
    assert finding.loc.mark[1] == finding.loc.text.index("5") + 1
    [unknown] = findings(ENTRY % f"{key}: spark-01, onn: x")
    assert unknown.loc is not None
    assert unknown.loc.text[unknown.loc.mark[1] - 1 :].startswith("onn")


@pytest.mark.parametrize(("first", "second"), [("on", "hosts"), ("hosts", "on"), ("hosts", '"on"')])
def test_both_keys_in_one_entry_are_refused(first: str, second: str) -> None:
    finding = only(ENTRY % f"{first}: spark-01, {second}: spark-01")
    assert (finding.code, finding.hint) == ("YML005", "remove one of the two")
    written = second.strip('"')
    assert finding.message == f"key '{written}' repeats '{first}' in line 5: `on` is the former name of `hosts`"
    assert finding.loc is not None
    assert finding.loc.text[finding.loc.mark[1] - 1 :].startswith(f"{second}: spark-01}}")


def test_one_key_twice_is_an_ordinary_repetition() -> None:
    assert only(ENTRY % "on: a, on: b").message == "key 'on' is repeated; it is already in line 5"


def test_rules_and_fixes_see_the_value() -> None:
    text = former(deployment())
    unknown = checked(text.replace("on: spark-01", "on: spark-1")).report.findings[0]
    assert (unknown.message, unknown.hint) == ("unknown host 'spark-1'", "did you mean 'spark-01'?")
    fixed = edited(text, [Edit(("deployments", "chat", "hosts"), "spark-02")])
    assert fixed == text.replace("on: spark-01", "on: spark-02")


def test_a_value_is_explained_by_either_path() -> None:
    found = resolved(former(service("port: 8765")))
    present, other = (explain(found, f"services.asr.{key}") for key in ("hosts", "on"))
    assert [(each.path, each.values[-1][0]) for each in present] == [("services.asr.hosts", "spark-01")]
    assert other == present


def test_the_schema_accepts_one_of_both_and_calls_the_former_one_deprecated() -> None:
    schema = json_schema(Inventory)
    validator = Draft202012Validator(schema)
    fields = schema["$defs"]["Deployment"]["properties"]
    assert fields["on"]["deprecated"] is True
    assert fields["on"]["anyOf"] == fields["hosts"]["anyOf"]
    data = json.loads(json.dumps(source(PAIR).document.data))
    assert list(validator.iter_errors(data)) == []
    entry = data["deployments"]["big"]
    for key in ("on", "hosts"):
        names = entry.pop("hosts", None) or entry.pop("on", None)
        assert list(validator.iter_errors(data)) != []
        entry[key] = names
        assert list(validator.iter_errors(data)) == []
    entry["on"] = entry["hosts"]
    assert list(validator.iter_errors(data)) != []


@pytest.mark.parametrize("path", INVENTORIES, ids=lambda path: path.stem)
def test_pyyaml_reads_the_shipped_inventories_as_sparkiac_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text) == json.loads(json.dumps(source(text).document.data))
