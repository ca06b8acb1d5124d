"""The schema for editors: it completes names of the catalog and of an inventory, and marks unknown options."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from sparkiac import __version__, catalog
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import json_schema
from sparkiac.words import inventory_schema
from tests.plan.fleets import ONES, deployment, planned, resolved

GENERAL: Final = inventory_schema.schema()
TEXT: Final = deployment("set: {max_model_len: 4096}")


@pytest.fixture(scope="module")
def own() -> dict[str, Any]:
    return inventory_schema.schema_of(planned(TEXT))


def faults(schema: dict[str, Any], old: str = "", new: str = "") -> list[str]:
    """Return what a reader of the schema says about the inventory, in which one text is replaced."""
    text = json.dumps(resolved(TEXT).inventory.document.data)
    assert old in text
    return [error.message for error in Draft202012Validator(schema).iter_errors(json.loads(text.replace(old, new)))]


def test_it_has_an_id_and_every_class_of_the_inventory() -> None:
    Draft202012Validator.check_schema(GENERAL)
    assert GENERAL["$id"] == f"urn:sparkiac:inventory:{__version__}"
    plain = json_schema(Inventory)
    assert GENERAL["$defs"].keys() - plain["$defs"].keys() == {"VllmOptions"}
    assert inventory_schema.text(GENERAL) == inventory_schema.text(inventory_schema.schema())


def test_names_of_the_catalog_are_suggested_and_others_are_accepted() -> None:
    fields = GENERAL["$defs"]["Deployment"]["properties"]
    names, form = fields["recipe"]["anyOf"][0]["anyOf"]
    assert names == {"enum": sorted(catalog.recipe_names())}
    assert "pattern" in form
    assert "two-node-roce" in fields["fragments"]["items"]["anyOf"][0]["enum"]
    assert faults(GENERAL) == []
    assert faults(GENERAL, "base/single-spark", "acme/own") == []
    assert faults(GENERAL, "base/single-spark", "no name") != []


def test_options_of_vllm_are_described_with_their_releases() -> None:
    options = GENERAL["$defs"]["VllmOptions"]["properties"]
    assert options["max_model_len"]["description"] == "vLLM 0.11.0 to 0.33.0"
    assert "fp8" in options["kv_cache_dtype"]["anyOf"][0]["enum"]
    assert options["disable_log_requests"]["description"].startswith("vLLM 0.11.0")
    assert faults(GENERAL, "max_model_len", "own_option") == []


def test_keys_of_speculation_are_described_with_their_releases() -> None:
    keys = GENERAL["$defs"]["Speculative"]["properties"]
    assert keys["dspark_draft_topk"]["description"] == "vLLM 0.28.0 to 0.33.0"
    assert "block" in keys["rejection_sample_method"]["anyOf"][0]["enum"]
    assert "dspark" in keys["method"]["anyOf"][0]["enum"]
    assert keys["model"]["description"].startswith("Drafter;")
    said = '"model": "example/model", "speculative": {"method": "mtp", "own_key": [[1]]}'
    assert faults(GENERAL, '"model": "example/model"', said) == []


def test_with_an_inventory_its_hosts_are_suggested_and_unknown_options_marked(own: dict[str, Any]) -> None:
    for key in ("hosts", "on"):
        field = own["$defs"]["Deployment"]["properties"][key]
        assert field["anyOf"][0]["anyOf"][0] == {"enum": ["spark-01"]}
        assert field["anyOf"][1]["items"]["anyOf"][0] == {"enum": ["spark-01"]}
    assert faults(own) == []
    assert faults(own, "spark-01", "spark-02") == []
    assert any("max_modl_len" in each for each in faults(own, "max_model_len", "max_modl_len"))


def test_options_of_an_unknown_image_are_not_marked() -> None:
    plan = planned(deployment(f"image: example.org/own@{ONES}", "set: {own_option: 1}"))
    assert inventory_schema.schema_of(plan)["properties"]["deployments"]["properties"] == {}
