"""Files of another tool's repository: each becomes one recipe, or is named with its line and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.commands.import_ import compared
from sparkiac.foreign import recipes

if TYPE_CHECKING:
    from sparkiac.foreign.draft import DraftEntry

RECIPE: Final = b"""\
recipe_version: "1"
name: small
container: vllm-node
mods: [mods/fix-template]
defaults: {port: 8000, host: 0.0.0.0}
command: vllm serve example/small --port {port} --host {host}
"""
ORIGIN: Final = "https://git.example.org/recipes at 1111, recipes"


def converted(files: dict[str, bytes]) -> recipes.ConvertedRecipes:
    return recipes.converted(files, kind="eugr", vendor="team", origin=ORIGIN, compared=compared)


def test_a_recipe_keeps_its_origin_and_names_what_it_lost() -> None:
    found = converted({"4x/Small.yaml": RECIPE})
    assert found.skipped == ()
    [lost] = found.lost
    assert lost.startswith("4x/Small.yaml:4: lost: mods: mods/fix-template: ")
    text = found.files["team/4x-small.yaml"].decode()
    assert f"imported from {ORIGIN}: 4x/Small.yaml" in text
    assert "# lost, line 4: mods: mods/fix-template: " in text


@pytest.mark.parametrize(
    ("files", "skipped"),
    [
        ({"x.yaml": b"recipe_version: '1'\nname: \xff\n"}, "x.yaml:2: skipped: byte 0xff is not UTF-8"),
        ({"x.yaml": b"recipe_version: '1'\nname: x\n"}, "x.yaml:1: skipped: command: is missing"),
        (
            {"x.yaml": RECIPE.replace(b"vllm serve example/small", b"echo")},
            "x.yaml:4: skipped: it starts no server; mods: ",
        ),
        ({"a-b.yaml": RECIPE, "a/b.yaml": RECIPE}, "a/b.yaml:1: skipped: another file has the name team/a-b.yaml"),
    ],
)
def test_what_starts_no_server_is_skipped_with_its_line(files: dict[str, bytes], skipped: str) -> None:
    found = converted(files)
    assert [each.startswith(skipped) for each in found.skipped] == [True], found.skipped
    assert len(found.files) == len(files) - 1


def test_a_recipe_that_differs_from_its_file_without_a_reason_is_skipped_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    written = recipes.recipe

    def forgetful(file: str, entry: DraftEntry) -> str:
        """Stand in for a conversion that drops an option."""
        return written(file, entry).replace("set:\n  max_model_len: 4096\n", "")

    monkeypatch.setattr(recipes, "recipe", forgetful)
    found = converted({"a.yaml": RECIPE, "b.yaml": RECIPE.replace(b"{host}", b"{host} --max-model-len 4096")})
    assert list(found.files) == ["team/a.yaml"]
    [skipped] = found.skipped
    assert skipped.startswith("b.yaml:6: skipped: its recipe starts another server; --max-model-len 4096: refused: ")


def test_what_a_recipe_adds_is_told_in_it() -> None:
    found = converted({"x.yaml": RECIPE.replace(b"{host}", b"{host} -tp 2")})
    assert ": added for the hosts of a group" in found.files["team/x.yaml"].decode()
