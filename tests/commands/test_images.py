"""`sparkiac images`: what it prints of a small catalog to the letter, and that it can print all of the shipped one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac import catalog
from sparkiac.words import images
from tests.commands.looks import printed_on_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

ACME = [
    "acme",
    "Image of acme",
    "",
    "  repository  example.org/vllm",
    "  kind        image of a registry, community",
    "  start       starts `vllm serve`",
    "  entrypoint  vllm serve",
    "",
    "Tag 1",
    "  vLLM              0.19.0",
    "  CUDA              13.0",
    "  driver, or newer  580",
    "  lacks             ray, dflash",
    "  moving            the tag moves to newer builds; the lock pins one",
    "",
    "Tag old",
    "  failed on dgx-spark  it crashes",
    "  - old",
    "  from  Guide L50",
    "",
    "Recipes that run it",
    "  - acme/small",
    "  - acme/small#long",
    "  - acme/small#old (superseded)",
    "  - acme/wide",
    "",
    "Sources",
    "  - Guide L51",
]


def lines(outcome: Outcome) -> list[str]:
    """Return the printed lines of a command that ended well."""
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.splitlines()


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Read what was printed, which must be sorted and ASCII."""
    data: dict[str, Any] = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == json.dumps(data, indent=1, sort_keys=True) + "\n"
    assert data["format_version"] == 1
    return data


@pytest.mark.usefixtures("small_catalog")
def test_the_list(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert lines(cli("images", "list")) == [
        "  tag  vLLM    CUDA  driver  to know",
        "",
        "acme  example.org/vllm",
        "  image of a registry, community; starts `vllm serve`",
        "  1    0.19.0  13.0  >=580   moving tag; lacks ray, dflash",
        "  old  ?       ?     ?       failed on dgx-spark",
        "",
        "lost  Image whose name is lost",
        "  image of a registry, community; entrypoint unknown",
        "  the source leaves its name out",
    ]


@pytest.mark.usefixtures("small_catalog")
def test_the_list_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert lines(cli("images", "list"))[3:8] == [
        "  1",
        "    vLLM 0.19.0, CUDA 13.0, driver >=580",
        "    moving tag; lacks ray, dflash",
        "  old",
        "    failed on dgx-spark",
    ]


@pytest.mark.usefixtures("small_catalog")
def test_a_family_by_its_name_and_by_its_repository(cli: Cli) -> None:
    assert lines(cli("images", "show", "acme")) == lines(cli("images", "show", "example.org/vllm")) == ACME


@pytest.mark.usefixtures("small_catalog")
def test_one_tag_by_its_reference(cli: Cli) -> None:
    """Recipes of the other tag are not those of this one."""
    page = lines(cli("images", "show", "example.org/vllm:old"))
    assert page == ACME[:8] + ACME[15:20] + ACME[26:]


@pytest.mark.usefixtures("small_catalog")
def test_json(cli: Cli) -> None:
    families = as_json(cli("images", "list", "--format", "json"))["images"]
    assert [(family["name"], [tag["reference"] for tag in family["tags"]]) for family in families] == [
        ("acme", ["example.org/vllm:1", "example.org/vllm:old"]),
        ("lost", []),
    ]
    image = as_json(cli("images", "show", "acme", "--format", "json"))["image"]
    assert image["recipes"] == ["acme/small", "acme/small#long", "acme/small#old (superseded)", "acme/wide"]
    assert image["tags"][1]["failed_on"] == {"dgx-spark": "it crashes"}


@pytest.mark.usefixtures("small_catalog")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["images"], "Usage: sparkiac images"),
        (["images", "shw"], "unknown command 'shw'; did you mean 'show'?"),
        (["images", "show"], "Missing argument 'NAME'"),
        (["images", "show", "acne"], "unknown image 'acne'; did you mean 'acme'?"),
        (["images", "show", "example.org/vllm:2"], "did you mean 'example.org/vllm:1'?"),
        (["images", "show", "vllm"], "did you mean 'example.org/vllm'?"),
        (["images", "list", "more"], "unexpected extra argument"),
    ],
)
def test_exit_2_for_what_is_wrong_with_the_nearest_name(cli: Cli, arguments: list[str], says: str) -> None:
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_shipped_list_fits_the_terminal_and_cuts_no_name(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    page = lines(cli("images", "list"))
    assert max(map(len, page)) <= width
    words = {word for line in page for word in line.split()}
    for family in images.families():
        assert {family["name"], *(tag["tag"] for tag in family["tags"])} <= words
        assert family["repository"] in {*words, None}


@pytest.mark.parametrize("name", images.names())
def test_every_image_can_be_shown_at_any_width(cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = images.named(name)
    for width in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        page = lines(cli("images", "show", name))
        assert max(map(len, page)) <= width
        text = "".join("".join(page).split())
        told = [*data["notes"], *data["sources"], *(note for tag in data["tags"] for note in tag["notes"])]
        told += [text for each in data["series"].values() for text in (each["vllm"], *each["sources"])]
        assert [each for each in told if "".join(each.split()) not in text] == []
    assert as_json(cli("images", "show", name, "--format", "json"))["image"] == json.loads(json.dumps(data))


def test_families_are_called_like_their_files() -> None:
    names = [family["name"] for family in images.families()]
    assert names == [found.document.name.split("/")[-1].removesuffix(".yaml") for found in catalog.image_families()]
    assert "ngc-vllm" in names


def test_colour_only_on_a_terminal_that_supports_it(folder: Path) -> None:
    assert b"\x1b[1m" in printed_on_terminal("images", "list", cwd=folder, env={})
    assert b"\x1b[3" not in printed_on_terminal("images", "list", cwd=folder, env={"NO_COLOR": "1"})
