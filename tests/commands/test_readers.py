"""`sparkiac check`, `plan` and `schema`: they read and print."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import ROOT
from tests.plan.fleets import LOCK, ONES, PAIR, deployment, pins, resolved, service

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Read standard output."""
    assert outcome.err == ""
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["format_version"] == 1
    return found


@pytest.mark.usefixtures("lab")
def test_check_reports_that_there_are_no_findings(cli: Cli) -> None:
    outcome = cli("check", "lab.yaml")
    assert (outcome.out, outcome.err) == ("", "lab.yaml: no findings\n")
    assert as_json(cli("check", "lab.yaml", "--format", "json"))["findings"] == []


def test_check_shows_the_users_line_and_what_to_do(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment("image: nvcr.io/nvidia/vllm:26.03-py3"))
    (folder / "lab.lock.yaml").write_text(LOCK)
    outcome = cli("check", "lab.yaml")
    assert outcome.out == ""
    assert outcome.err == (
        "lab.yaml:10:12: error IMG003 unpinned-image: chat runs nvcr.io/nvidia/vllm:26.03-py3, "
        "which the lock does not pin\n"
        "  10 |     image: nvcr.io/nvidia/vllm:26.03-py3\n"
        "     |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: run sparkiac lock, or write its digest after @ in the inventory\n"
        '  source: Practical guide to vLLM on DGX Spark (June 2026); vLLM blog, "vLLM on the DGX Spark" (2026-06-01)\n'
        "1 error\n"
    )


def test_check_gives_json_for_machines(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment())
    (folder / "lab.lock.yaml").write_text(pins(deployment()))
    [finding] = as_json(cli("check", "lab.yaml", "--format", "json"))["findings"]
    assert finding == {
        "code": "IMG003",
        "slug": "unpinned-image",
        "severity": "error",
        "message": "chat runs nvcr.io/nvidia/vllm:26.04-py3, which the lock does not pin",
        "file": "lab.yaml",
        "line": 5,
        "column": 3,
        "end_line": 5,
        "end_column": 7,
        "hint": "run sparkiac lock, or write its digest after @ in the inventory",
        "source": "Spark guide L3, L105, L112; vLLM blog L27, L62",
        "origin": "recipe base/single-spark catalog/recipes/base/single-spark.yaml:5",
    }


def test_json_is_ascii_whatever_the_inventory_says(cli: Cli, folder: Path) -> None:
    """A terminal, a log and a pipe disagree about encodings; escapes pass through all of them."""
    (folder / "lab.yaml").write_text(deployment("bindd: Füße"))
    outcome = cli("check", "lab.yaml", "--format", "json")
    assert outcome.code == 2
    assert outcome.out.isascii()


@pytest.mark.usefixtures("lab")
def test_plan_shows_units_ports_memory_and_digests(cli: Cli) -> None:
    outcome = cli("plan", "lab.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    for word in ("spark-01", "192.168.1.11:8001", "101.1 GiB", "example/model", f"@{ONES[7:19]}"):
        assert word in outcome.out, word
    assert "example" in outcome.out
    assert "no real image" not in outcome.out


def test_plan_shows_what_is_not_known(cli: Cli, lab: Path) -> None:
    (lab / "lab.yaml").write_text(service("port: 80") + "allow: []\n")
    outcome = cli("plan", "lab.yaml")
    assert "unknown" in outcome.out
    shipped = cli("plan", str(ROOT / "inventories/lab.yaml"))
    assert (shipped.code, shipped.err) == (0, "")
    assert "Cannot be applied" not in shipped.out
    assert "unknown" not in shipped.out, "the catalog has the config.json of its models"
    host = "spark-01: {address: 192.168.1.11, driver: null}"
    (lab / "lab.yaml").write_text(service(host=host))
    assert "driver" not in cli("plan", "lab.yaml").out


def test_plan_shows_a_plan_without_a_lock_and_warns(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment())
    outcome = cli("plan", "lab.yaml")
    assert outcome.code == 0
    assert "UNLOCKED" in outcome.out
    assert outcome.err == "2 warnings (IMG003, MDL001); sparkiac check lab.yaml shows all\n"


def test_plan_shows_the_plan_beside_what_is_refused(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(
        service("command: [vllm, serve, x]").replace("example.org/asr", "vllm/vllm-openai")
    )
    outcome = cli("plan", "lab.yaml")
    assert outcome.code == 1
    assert "spark-01" in outcome.out
    assert "error ENT001" in outcome.err


def test_plan_gives_json(cli: Cli, lab: Path) -> None:
    (lab / "lab.yaml").write_text(PAIR)
    plan = as_json(cli("plan", "lab.yaml", "--format", "json"))["plan"]
    assert (plan["name"], [host["name"] for host in plan["hosts"]]) == ("pair", ["spark-01", "spark-02"])
    assert [host["containers"][0]["server"]["node"] for host in plan["hosts"]] == [[1, 2], [0, 2]]
    (lab / "lab.yaml").write_text("name: lab\n")
    assert as_json(cli("plan", "lab.yaml", "--format", "json"))["plan"] is None


def plain(value: Any) -> Any:  # noqa: ANN401  any YAML value
    """Return data with lists for tuples, as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, tuple) else value


def test_the_schema_is_one_and_accepts_what_sparkiac_accepts(cli: Cli) -> None:
    schema = json.loads(cli("schema").out)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    shipped = [(ROOT / f"inventories/{name}.yaml").read_text() for name in ("lab", "solo")]
    for text in (*shipped, PAIR, deployment(), service("port: 1")):
        assert list(validator.iter_errors(plain(resolved(text).inventory.document.data))) == []
    for wrong in ({}, {"name": "lab"}, {"name": "lab", "hosts": {"h": {"addres": "10.0.0.1"}}}):
        assert list(validator.iter_errors(wrong))


def test_the_schema_describes_every_field(cli: Cli) -> None:
    schema = json.loads(cli("schema").out)
    for name, definition in {"": schema, **schema["$defs"]}.items():
        for field, facts in definition.get("properties", {}).items():
            assert facts.get("description"), f"{name}.{field}"


def test_the_committed_schema_is_up_to_date(cli: Cli) -> None:
    current = cli("schema").out == (ROOT / "schema/inventory.schema.json").read_text()
    assert current, "run sparkiac schema > schema/inventory.schema.json"


@pytest.mark.usefixtures("lab")
def test_the_schema_of_an_inventory_has_its_hosts(cli: Cli, folder: Path) -> None:
    made = json.loads(cli("schema", "lab.yaml").out)
    assert made["$defs"]["Deployment"]["properties"]["hosts"]["anyOf"][0]["anyOf"][0] == {"enum": ["spark-01"]}
    (folder / "bad.yaml").write_text("name: lab\n")
    bad = cli("schema", "bad.yaml")
    assert (bad.code, bad.out) == (2, "")
    assert "bad.yaml:1:1: error INV003" in bad.err


@pytest.mark.usefixtures("lab")
def test_plan_explains_where_a_value_comes_from(cli: Cli) -> None:
    outcome = cli("plan", "lab.yaml", "--explain", "deployments.chat.model")
    assert (outcome.code, outcome.out, outcome.err) == (
        0,
        'deployments.chat.model: "example/model"\n  from inventory lab.yaml:7\n',
        "",
    )
    found = as_json(cli("plan", "lab.yaml", "--explain", "deployments.chat.model", "--format", "json"))
    assert found["explained"] == [
        {"path": "deployments.chat.model", "said": [{"from": "inventory lab.yaml:7", "value": "example/model"}]}
    ]


def test_plan_explains_what_was_overridden(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment("set: {max_model_len: 8192}"))
    said = cli("plan", "lab.yaml", "--explain", "deployments.chat.set.max_model_len").out
    assert said.startswith(
        "deployments.chat.set.max_model_len: 8192\n  from inventory lab.yaml:10\n  over 65536 of recipe"
    )


@pytest.mark.usefixtures("lab")
def test_plan_names_the_nearest_path(cli: Cli) -> None:
    outcome = cli("plan", "lab.yaml", "--explain", "deployments.chat.prot")
    assert outcome.code == 2
    assert "unknown path 'deployments.chat.prot'; did you mean 'deployments.chat.port'?" in outcome.err


def test_plan_explains_nothing_of_a_bad_file(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment("portt: 1"))
    outcome = cli("plan", "lab.yaml", "--explain", "deployments.chat.port")
    assert outcome.code == 2
    assert "lab.yaml:10:5: error INV001" in outcome.err
