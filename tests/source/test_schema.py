"""The JSON Schema that editors get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from sparkiac.model.base import Model
from sparkiac.model.catalog import Recipe
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import DIALECT, descriptions, json_schema
from tests.source.reading import FLEET, SHIPPED, source

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = json_schema(Inventory)
VALIDATOR = Draft202012Validator(SCHEMA)


def data(text: str) -> Any:  # noqa: ANN401  what JSON Schema sees: lists, no tuples
    return json.loads(json.dumps(source(text).document.data))


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, definition in [("Inventory", schema), *schema["$defs"].items()]:
        for field, found in definition.get("properties", {}).items():
            yield f"{name}.{field}", found


def test_it_is_a_schema_itself() -> None:
    assert SCHEMA["$schema"] == DIALECT
    Draft202012Validator.check_schema(SCHEMA)


def test_every_property_is_described() -> None:
    found = dict(properties(SCHEMA))
    assert len(found) > 80
    assert [name for name, field in found.items() if not field.get("description")] == []
    assert found["Host.address"]["description"] == "Address of the host for Ansible and for clients."
    assert found["Deployment.set"]["description"].startswith("Engine options in snake_case")


@pytest.mark.parametrize("path", [path for path in SHIPPED if ".lock." not in path.name], ids=lambda path: path.stem)
def test_it_accepts_the_shipped_inventories(path: Any) -> None:  # noqa: ANN401
    assert list(VALIDATOR.iter_errors(data(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("name: lab\n", []),
        (f"{FLEET}x: 1\n", []),
        (FLEET.replace("lab", "Lab!"), ["name"]),
        (f"{FLEET}defaults: {{bind: wan}}\n", ["defaults", "bind"]),
        (f"{FLEET}defaults: {{api_key: literal}}\n", ["defaults", "api_key"]),
        (f"{FLEET}defaults: {{timeouts: {{ready_s: 0}}}}\n", ["defaults", "timeouts"]),
        (f"{FLEET}services: {{asr: {{kind: vm, image: a, hosts: b}}}}\n", ["services", "asr"]),
        ("name: lab\nhosts: {}\n", ["hosts"]),
    ],
)
def test_it_refuses_bad_ones(text: str, where: list[str]) -> None:
    errors = list(VALIDATOR.iter_errors(data(text)))
    assert [list(error.absolute_path) for error in errors] == [where]


def test_descriptions() -> None:
    assert descriptions(Inventory)["name"] == "Name of the fleet; files are generated in generated/<name>."
    assert descriptions(Model) == {}
    assert descriptions(Recipe)["title"] == "Title, in one line."
    assert descriptions(Recipe)["image"].startswith("Image to run"), "of the class that it extends"
