"""Recipes in files of a user's repository: read beside the shipped ones, and refused with a position."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac import catalog
from sparkiac.catalog import library
from sparkiac.catalog.library import RecipeText
from sparkiac.resolve import catalogued

SHIPPED: Final = "base/single-spark"
RECIPE: Final = b"""\
title: Our model
engine: vllm
sources: [our own measurement of 2026-11-02]
image: nvcr.io/nvidia/vllm:26.04-py3
model: example/model
set: {max_model_len: 4096}
"""
VARIANT: Final = b"title: Longer\nsources: [ours]\nset: {max_model_len: 8192}\n"


def file(*parts: str, raw: bytes = RECIPE) -> RecipeText:
    return RecipeText(f"recipes/{'/'.join(parts)}.yaml", parts, raw)


def test_own_recipes_are_beside_the_shipped_ones() -> None:
    found, findings = library.read([file("ours", "chat"), file("ours", "chat", "long", raw=VARIANT)])
    assert findings == ()
    assert set(found.recipe_names()) == {*catalog.recipe_names(), "ours/chat"}
    assert found.variant_names("ours/chat") == ("long",)
    assert found.file("ours/chat#long") == "recipes/ours/chat/long.yaml"
    assert found.file(SHIPPED) is None
    entry = catalogued.named("ours/chat#long", found)
    assert (entry.values["engine"], entry.values["set"]["max_model_len"]) == ("vllm", 8192)
    origin = entry.leaves["set", "max_model_len"][1]
    assert (origin.file, origin.mark and origin.mark.line) == ("recipes/ours/chat/long.yaml", 3)


def test_a_shipped_recipe_can_have_an_own_variant() -> None:
    found, findings = library.read([file(*SHIPPED.split("/"), "ours", raw=VARIANT)])
    assert findings == ()
    assert "ours" in found.variant_names(SHIPPED)
    assert catalogued.named(f"{SHIPPED}#ours", found).values["set"]["max_model_len"] == 8192


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ([file("chat")], "RCP001", "the path of this file is not the name of a recipe: chat"),
        ([file("Ours", "chat")], "RCP001", "the path of this file is not the name of a recipe: Ours/chat"),
        (
            [file("a", "b", "c", "d", raw=VARIANT)],
            "RCP001",
            "the path of this file is not the name of a recipe: a/b#c#d",
        ),
        ([file(*SHIPPED.split("/"))], "RCP002", f"{SHIPPED} is also in the catalog of sparkiac"),
        ([file("a", "b"), file("a", "b")], "RCP002", "a/b is also in recipes/a/b.yaml"),
        ([file("a", "b", "c", raw=VARIANT)], "RCP003", "a/b#c is a variant of a/b, which does not exist"),
    ],
)
def test_a_file_in_the_wrong_place_is_refused(files: list[RecipeText], code: str, message: str) -> None:
    found, findings = library.read(files)
    assert [each.code for each in findings] == [code]
    assert findings[0].message.startswith(message)
    assert findings[0].loc is not None
    assert findings[0].loc.file == files[-1].path
    assert catalog.recipe(SHIPPED) == found.recipe(SHIPPED)


def test_a_fault_is_found_at_its_line_and_column() -> None:
    found, findings = library.read([file("ours", "chat", raw=RECIPE.replace(b"engine: vllm", b"engine: VLLM"))])
    [finding] = findings
    assert finding.loc is not None
    assert (finding.loc.file, *finding.loc.mark[:2]) == ("recipes/ours/chat.yaml", 2, 9)
    known = found.recipe("ours/chat")
    assert known is not None
    assert known.value is None
