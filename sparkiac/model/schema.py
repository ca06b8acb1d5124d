"""JSON Schema of the inventory, for editors. The docstring below a field becomes its description."""

from __future__ import annotations

import ast
import inspect
from copy import deepcopy
from functools import cache
from itertools import pairwise
from typing import Any, Final

from pydantic import BaseModel

from sparkiac.model.base import FORMER_HOSTS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `model` with descriptions."""
    schema = model.model_json_schema()
    for name, definition in [(model.__name__, schema), *schema.get("$defs", {}).items()]:
        owner = classes(model).get(name)
        for field, text in (descriptions(owner) if owner else {}).items():
            definition.get("properties", {}).get(field, {})["description"] = text
        if "hosts" in definition.get("required", ()) and definition is not schema:
            _accept_former_name(definition)
    return {"$schema": DIALECT, **schema}


def _accept_former_name(definition: dict[str, Any]) -> None:
    """Accept `on` in place of the required key `hosts`, but not both."""
    fields = definition["properties"]
    fields[FORMER_HOSTS] = deepcopy(fields["hosts"]) | {"deprecated": True, "description": "Former name of `hosts`."}
    definition["required"] = [name for name in definition["required"] if name != "hosts"]
    definition["oneOf"] = [{"required": [name]} for name in ("hosts", FORMER_HOSTS)]


@cache
def descriptions(model: type) -> dict[str, str]:
    """Return field or member name → the docstring below it in one line, including base classes.

    The docstrings are read from the source code when they are needed, so other commands do not load them.
    """
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if owner.__module__.startswith("sparkiac."):
            found |= _docstrings(owner)
    return found


def _docstrings(owner: type) -> dict[str, str]:
    tree = ast.parse(inspect.getsource(owner)).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    found: dict[str, str] = {}
    for pair in pairwise(body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


def classes(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return name → class for every model class that is loaded."""
    base = next(owner for owner in reversed(model.__mro__) if owner.__module__ == "sparkiac.model.base")
    found: dict[str, type[BaseModel]] = {}
    pending: list[Any] = [base]
    while pending:
        owner = pending.pop()
        found[owner.__name__] = owner
        pending += owner.__subclasses__()
    return found
