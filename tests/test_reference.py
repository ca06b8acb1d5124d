"""docs/reference.md: it is what commands and models say today, and it lacks none of them."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import click
import pytest
import yaml
from pydantic import TypeAdapter

from sparkiac.cli import cli
from sparkiac.commands.inputs import Exit
from sparkiac.model.base import Model
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import json_schema
from tests import destinations
from tests.conftest import ROOT, generator
from tests.every import every
from tests.everyexample import CHOSEN, declaring, example, examples
from tests.everyfield import FITTING, places

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA: Final[dict[str, Any]] = json_schema(Inventory)
CLASSES: Final = {"Inventory": SCHEMA, **SCHEMA["$defs"]}


class Undescribed(Model):
    """A class with a key that nobody described."""

    forgotten: int


@cache
def sections() -> dict[str, str]:
    """Return heading → text below it."""
    parts = re.split(r"^#{2,3} (.*)\n", generator("reference").text(), flags=re.MULTILINE)
    return dict(zip((each.replace("\\", "") for each in parts[1::2]), parts[2::2], strict=True))


@cache
def section(owner: str) -> str:
    """Return the section of a class."""
    return sections()[generator("reference").places(SCHEMA)[owner][0]]


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, **cli.context_settings)
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from commands(below, f"{name} {each}")


COMMANDS: Final = dict(commands(cli, "sparkiac"))


def test_the_page_is_up_to_date() -> None:
    assert generator("reference").text() == (ROOT / "docs/reference.md").read_text(), (
        "docs/reference.md is out of date; write it anew: python tools/docs/reference.py"
    )


@every(CLASSES)
def test_every_key_has_a_description(name: str) -> None:
    lacking = [key for key, data in CLASSES[name]["properties"].items() if not data.get("description", "").strip()]
    assert lacking == [], f"write a docstring below these fields of {name}"
    assert CLASSES[name]["description"].strip()


def test_a_key_without_a_description_stops_the_generator() -> None:
    owner = json_schema(Undescribed)
    with pytest.raises(KeyError, match="description"):
        generator("reference").key("forgotten", owner["properties"]["forgotten"], owner, {})


@every(places(Inventory))
def test_every_key_has_its_row(place: Any) -> None:  # noqa: ANN401
    """The walk over the fields is another one than that of the generator."""
    keys = [step.key for step in place.steps if step.key != "*"]
    owners = [name for name, data in CLASSES.items() if keys[-1] in data["properties"]]
    rows = [line for name in owners for line in section(name).splitlines() if line.startswith(f"| `{keys[-1]}` |")]
    assert len(rows) == len(owners) > 0
    assert all(cell.strip() for row in rows for cell in row.replace("\\|", "").split("|")[1:-1])


KEYS: Final = sorted(
    {(place.owner, place.steps[-1].key) for place in places(Inventory)}, key=lambda each: (each[0].__name__, each[1])
)


def test_every_key_has_an_example_that_its_type_allows() -> None:
    for owner, key in KEYS:
        line, hint = example(owner, key), get_type_hints(owner, include_extras=True)[key]
        assert line.startswith((f"{key}: ", f"'{key}': ")), f"{owner.__name__}.{key}"
        TypeAdapter(hint).validate_json(json.dumps(yaml.safe_load(f"{{{line}}}")[key]), strict=True)


def test_an_example_comes_from_an_inventory_or_is_chosen() -> None:
    """Else it is one of the words or names that the key allows: no made-up text or number is an example."""
    written = {f"{owner}.{key}" for owner, key in examples()}
    names = {f"{declaring(owner, key)}.{key}": (owner, key) for owner, key in KEYS}
    for name in names.keys() - written - CHOSEN.keys():
        owner, key = names[name]
        hint = str(owner.model_fields[key].annotation)
        assert "Literal[" in hint or "bool" in hint or name in FITTING, f"{name}: choose an example in everyexample.py"


def test_every_key_says_where_it_ends_up() -> None:
    for owner, key in KEYS:
        known = destinations.of(owner.__name__, key) or key in generator("reference").CHOOSE
        assert known, f"{owner.__name__}.{key}: run python tools/docs/destinations.py {key}"


def test_every_class_says_where_it_stands() -> None:
    assert set(generator("reference").places(SCHEMA)) == set(CLASSES)
    assert "`deployments.NAME.per_host.HOST.container`" in section("ContainerSettings")


def test_defaults_and_limits_are_those_of_the_models() -> None:
    assert "| `retention` | a number and a unit, h, d, w or y, such as 30d | `30d` |" in section("Prometheus")
    assert "| `port` | integer, at least 1, at most 65,535 | unset |" in section("Ssh")
    assert "| `on_failure` | `stop`; or `back` | `stop` |" in section("Rollout")
    assert re.search(r"\| `name` \| .* \| required \|", section("Inventory"))


@every(COMMANDS)
def test_every_command_has_its_section_with_every_option(name: str) -> None:
    page = sections()[name]
    for each in COMMANDS[name].params:
        if isinstance(each, click.Option) and not each.hidden:
            assert f"| `{', '.join(each.opts)}" in page
        elif isinstance(each, click.Argument):
            assert each.human_readable_name in page


@every(COMMANDS)
def test_a_help_text_has_no_mark_for_the_formatter(name: str) -> None:
    """Click keeps the lines after a backspace character; a backslash and a b are text."""
    command = COMMANDS[name]
    assert "\\b" not in command.get_help(click.Context(command, info_name=name, **cli.context_settings))


def test_every_exit_code_has_its_meaning() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", sections()["Exit codes"], re.MULTILINE)
    assert [int(code) for code, _ in rows] == [int(each) for each in Exit]
    assert len({meaning for _, meaning in rows}) == len(Exit)


def test_every_link_on_the_page_leads_to_one_heading() -> None:
    anchors = [generator("reference").anchor(heading) for heading in sections()]
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\((#[^)]*)\)", generator("reference").text())) <= set(anchors)


@pytest.mark.parametrize("page", ["catalog", "reference"])
def test_every_row_has_the_cells_of_its_head(page: str) -> None:
    cells = 0
    for line in generator(page).text().splitlines():
        count = line.replace("\\|", "").count("|")
        if line.startswith("|---"):
            assert count == cells
        assert not line.startswith("|") or not cells or count == cells, line
        cells = count if line.startswith("|") else 0
