"""Writes docs/reference.md: every command, exit code and inventory key. Run it after a change of one of them.

Examples of keys are those of tests/everyexample.py, and where they end up is in tests/destinations.json.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sparkiac.cli import cli
from sparkiac.commands.inputs import Exit
from sparkiac.model.forms import FORMS
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import classes, descriptions, json_schema
from sparkiac.model.settings import Speculative
from sparkiac.words import inventory_schema

sys.path.insert(0, str(Path(__file__).parents[2]))  # for what the tests record
from tests import destinations
from tests.everyexample import NO_EXAMPLE, example

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import BaseModel

    Data = dict[str, Any]

PAGE: Final = Path(__file__).parents[2] / "docs/reference.md"
HEAD: Final = """\
# Reference

Written by `python tools/docs/reference.py` from the commands in `sparkiac/commands` and the models in `sparkiac/model`;
change it there. [catalog.md](catalog.md) lists recipes and images; `sparkiac rules list` lists the rules.

- [Commands](#commands)
- [Exit codes](#exit-codes)
- [Inventory keys](#inventory-keys)
"""
COMMANDS: Final = """\
## Commands

Every command has `-h` and `--help`. `NO_COLOR` switches colours off.
"""
EXITS: Final = """\
## Exit codes

The same for every command:
"""
KEYS: Final = """\
## Inventory keys

`NAME` and words in capitals stand for a name or value that you choose; `[]` stands for each item of a list. An unknown
key is an error. "unset" means that a later key, the recipe, the catalog or the program that reads it decides; the
meaning says which, where there is one default. "ends up in" names the generated files that change with the value in a
small inventory:

| name | file |
|---|---|
| `compose.yaml` | the Compose file of a container |
| `sparkiac-NAME.service`, `.timer` | a systemd unit |
| `preflight.json` | checks of the host before an apply and each start |
| `promise.json` | what a model must answer |
| `90-sparkiac.conf` | kernel settings |
| `sparkiac.conf` | the arguments of earlyoom |
| `prometheus.yml`, `rules.yml`, `alertmanager.yml` and others | the configuration of monitoring |
| `host_vars`, `group_vars`, `inventory.yml`, `site.yml` | what Ansible reads, nothing on the host |
| `PLAN.md` | the plan alone |
| lock | what the lock must hold |
| findings | what `sparkiac check` reports |

"an apply" is what an apply does on the hosts of that inventory after a change of the value;
[operations.md](operations.md#what-restarts) says what counts. Units of other entries that refer to the changed one,
such as a web interface, may restart too:

| word | what happens |
|---|---|
| restarts, starts, stops NAME | with the unit of the entry; units of monitoring are named |
| asks NAME | the unit runs on, and the gate sends it requests |
| reload | systemd reads its files again; all units run on |
| kernel settings, host settings | are set; all units run on |
| files | are replaced; programs read them when they run next |
| `network.yml` | nothing; the playbook `network.yml` changes the links |
| nothing | the value is read on the controller |

Keys under `defaults`, `deployments.NAME` and `deployments.NAME.per_host.HOST` override those of the recipe.
"""
ITEMS: Final = {
    "hosts": "HOST", "retired": "HOST", "per_host": "HOST", "platforms": "PLATFORM", "turns": "TURN",
    "builds": "BUILD", "mounts": "PATH", "files": "PATH", "aliases": "ALIAS",
}  # fmt: skip
"""Key of a mapping → what stands for its keys; others are NAME."""


FORMER: Final = "as its new name"
"""Example and destination of a former name, which follows its new name."""
CHOOSE: Final = "kind"
"""Key whose value chooses which other keys there are."""


def text() -> str:
    """Return the page."""
    parts = ([HEAD, COMMANDS], commands(cli, "sparkiac"), [EXITS], exits(), [KEYS], keys())
    return "\n".join(line for part in parts for line in part)


def commands(command: click.Command, name: str) -> Iterator[str]:
    """Write a command, and the commands below it."""
    context = click.Context(command, info_name=name, **cli.context_settings)
    yield f"### {name}\n"
    yield f"`{' '.join([name, *command.collect_usage_pieces(context)])}`\n"
    yield f"{prose(command.help or '')}\n"
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        yield from table(("option", "meaning", "default"), (option(each, context) for each in options))
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            if below is not None and not below.hidden:
                yield from commands(below, f"{name} {each}")


def option(given: click.Option, context: click.Context) -> tuple[str, str, str]:
    """Write an option with its value, its help and its default."""
    names = ", ".join(given.opts) + "".join(f" / {each}" for each in given.secondary_opts)
    value = "" if given.is_flag or given.count else f" {given.make_metavar(context)}"
    default = given.to_info_dict()["default"]
    silent = callable(default) or default in (None, False, ())  # the help of a function says what it gives
    shown = "required" if given.required else "" if silent else f"`{default}`"
    repeated = " Can be given several times." if given.multiple else ""
    return f"`{names}{value}`".replace("|", "\\|"), cell(given.help or "") + repeated, shown


def prose(help_text: str) -> str:
    """Write a help text; paragraphs that keep their lines become blocks."""
    found = []
    for part in inspect.cleandoc(help_text).split("\n\n"):
        kept = part.removeprefix("\b\n")
        found.append(cell(part) if kept == part else f"```text\n{kept}\n```")
    return "\n\n".join(found)


def exits() -> Iterator[str]:
    """Write the exit codes."""
    meanings = descriptions(Exit)
    yield from table(("code", "meaning"), ((str(int(each)), meanings[each.name]) for each in Exit))


def keys() -> Iterator[str]:
    """Write every class of the inventory once, with all places where it can stand."""
    schema = json_schema(Inventory)
    found = places(schema)
    for name, where in found.items():
        owner = schema["$defs"].get(name, schema)
        yield f"### {cell(where[0])}\n"
        yield f"{cell(owner['description'])}\n"
        if where[1:]:
            yield f"Also at {', '.join(f'`{each}`' for each in where[1:])}.\n"
        model = classes(Inventory)[name]
        rows = (
            (*key(each, data, owner, found), *shown(model, each, data)) for each, data in owner["properties"].items()
        )
        yield from table(("key", "type", "default", "meaning", "example", "ends up in", "an apply"), rows)
        if model is Speculative:
            yield "The other keys are those of vLLM's releases:\n"
            yield from table(("key", "releases", "words"), of_releases(name, owner["properties"]))


def of_releases(name: str, own: Data) -> Iterator[tuple[str, str, str]]:
    """Write the keys of a class that only releases of vLLM have."""
    for each, data in inventory_schema.schema()["$defs"][name]["properties"].items():
        if each not in own:
            words = data["anyOf"][0]["enum"] if "anyOf" in data else ()
            yield f"`{each}`", data["description"], ", ".join(f"`{word}`" for word in words)


def shown(model: type[BaseModel], name: str, data: Data) -> tuple[str, str, str]:
    """Write an example of a key, where its value ends up, and what an apply does after its change.

    The keys of a mapping have examples of their own.
    """
    if data.get("deprecated"):
        return FORMER, FORMER, FORMER
    line, ends = example(model, name), destinations.of(model.__name__, name)
    if not ends:
        return _code(line), "decides which keys there are" if name == CHOOSE else NO_EXAMPLE, NO_EXAMPLE
    reached = ", ".join(each if each in destinations.NO_FILES or " " in each else f"`{each}`" for each in ends)
    return _code(line), reached, ", ".join(destinations.effects_of(model.__name__, name)) or destinations.NOTHING


def _code(line: str) -> str:
    return line if line == NO_EXAMPLE else cell(f"`{line}`")


def places(schema: Data) -> dict[str, list[str]]:
    """Return class → its places, in the order in which they appear; the inventory itself is the top level."""
    found = {"Inventory": ["Top level"]}
    _walk(schema, "", schema["$defs"], found)
    return found


def _walk(owner: Data, at: str, classes: Data, found: dict[str, list[str]]) -> None:
    for name, data in owner["properties"].items():
        for reference, place in references(data, f"{at}{name}"):
            keys_below = classes[reference]["properties"]
            chosen = f" ({CHOOSE}: {' or '.join(values(keys_below[CHOOSE]))})" if CHOOSE in keys_below else ""
            found.setdefault(reference, []).append(f"{place}{chosen}")
            _walk(classes[reference], f"{place}.", classes, found)


def references(data: Data, place: str) -> Iterator[tuple[str, str]]:
    """Return the classes that a value can have, each with its path."""
    if "$ref" in data:
        yield data["$ref"].rpartition("/")[2], place
    for part in (*data.get("anyOf", ()), *data.get("oneOf", ())):
        yield from references(part, place)
    if "items" in data:
        yield from references(data["items"], f"{place}[]")
    for part in data.get("patternProperties", {}).values():
        yield from references(part, f"{place}.{ITEMS.get(place.rpartition('.')[2], 'NAME')}")


def key(name: str, data: Data, owner: Data, found: dict[str, list[str]]) -> tuple[str, str, str, str]:
    """Write a key; fail if the model has no description of it."""
    return f"`{name}`", "; or ".join(types(data, found)), default(name, data, owner), cell(data["description"])


def default(name: str, data: Data, owner: Data) -> str:
    """Write the default of a key."""
    if name in owner.get("required", ()):
        return "required"
    value = data.get("default")
    if value in ({}, [], ()):
        return "empty"
    if value is None:
        return "see its keys" if "$ref" in data else "unset"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def types(data: Data, found: dict[str, list[str]]) -> list[str]:
    """Write the type of a value; the default shows whether it can be unset."""
    if "$ref" in data:
        heading = found[data["$ref"].rpartition("/")[2]][0]
        return [f"keys of [{cell(heading)}]({anchor(heading)})"]
    parts = (*data.get("anyOf", ()), *data.get("oneOf", ()))
    if parts:
        said = (word for part in parts if part.get("type") != "null" for word in types(part, found))
        return list(dict.fromkeys(said))
    if "items" in data:
        return [f"list: {'; or '.join(types(data['items'], found))}"]
    if "patternProperties" in data:
        [(pattern, part)] = data["patternProperties"].items()
        return [f"mapping from {cell(FORMS[pattern])}, to {'; or '.join(types(part, found))}"]
    if {"enum", "const"} & data.keys():
        return [f"`{each}`" for each in values(data)]
    return [single(data)]


def values(data: Data) -> list[str]:
    """Return the allowed words of a value."""
    return [str(each) for each in data.get("enum", [data.get("const")])]


def single(data: Data) -> str:
    """Write the type of a single value with its limits."""
    if "pattern" in data:
        most = f", at most {data['maxLength']} characters" if "maxLength" in data else ""
        return cell(FORMS[data["pattern"]]) + most
    names = {"boolean": "`true` or `false`", "string": "text", "object": "mapping"}
    limits = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}
    said = [f"{words} {data[limit]:,}" for limit, words in limits.items() if limit in data]
    return ", ".join([names.get(data["type"], data["type"]), *said])


def anchor(heading: str) -> str:
    """Return the link to a heading, as GitHub makes it."""
    return "#" + re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a table, and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def cell(given: str) -> str:
    """Write a text in one line; outside of code, characters that have a meaning in Markdown are escaped."""
    parts = re.split(r"(`[^`]*`)", " ".join(given.split()))
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"([<>*_\[\]~\\^])", r"\\\1", parts[index])
    return "".join(parts).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8", newline="\n")
