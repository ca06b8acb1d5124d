"""The catalog: every entry is valid, says where it is from, and is found by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog
from sparkiac.model.catalog import Recipe

if TYPE_CHECKING:
    from pathlib import Path

RECIPES = catalog.recipe_names()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_valid_and_names_its_sources(name: str) -> None:
    found = catalog.recipe(name)
    assert found is not None
    assert found.value is not None
    assert found.findings == ()
    assert found.document.name == f"catalog/recipes/{name}.yaml"
    assert found.value.sources
    assert all(measurement.source for measurement in found.value.measured)
    assert all(correction.why for correction in found.value.corrections)


def test_names_are_sorted_and_the_shipped_ones_are_there() -> None:
    assert list(RECIPES) == sorted(RECIPES)
    assert {"base/single-spark", "google/gemma-4-26b-a4b-it-fp8", "redhatai/qwen3.6-35b-a3b-nvfp4"} <= set(RECIPES)
    assert list(catalog.platform_names()) == sorted(catalog.platform_names())
    assert "dgx-spark" in catalog.platform_names()


@pytest.mark.parametrize("name", catalog.platform_names())
def test_a_platform_is_valid_and_names_its_sources(name: str) -> None:
    found = catalog.platform(name)
    assert found is not None
    assert found.value is not None
    assert found.value.sources


def test_what_is_not_there_is_none() -> None:
    assert catalog.recipe("example/none") is None
    assert catalog.variant("base/single-spark", "none") is None
    assert catalog.fragment("none") is None
    assert catalog.platform("none") is None
    assert catalog.image_family("example.org/none") is None


def test_a_broken_entry_is_a_defect_and_not_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "recipes/test").mkdir(parents=True)
    (tmp_path / "recipes/test/broken.yaml").write_text("title: no engine\n")
    monkeypatch.setattr(catalog, "_ROOT", tmp_path)
    with pytest.raises(AssertionError, match=r"recipes/test/broken\.yaml is not valid"):
        catalog._entry("recipes/test/broken.yaml", Recipe)  # noqa: SLF001  the cached door would keep the answer
