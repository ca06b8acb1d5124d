"""`sparkiac propose`: place what the user wants on the hosts of an inventory, fastest first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands import prompts
from sparkiac.commands.inputs import AS_JSON, Exit, answer, known, mention, planned, reject
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.catalog.library import Library
    from sparkiac.fix.candidates import Wish
    from sparkiac.resolve.catalogued import Catalogued

_KEYS: Final = ("users", "context", "for", "recipe")
_FORM: Final = "NAME: users=2 context=128k for=coding recipe=VENDOR/NAME; users is 1 and context 32k if omitted"
_SIZE: Final = re.compile(r"([1-9][0-9]{0,8})([kKmM]?)")
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20}


@click.command()
@INVENTORY
@click.option(
    "--want", "wants", multiple=True, required=True, metavar="WISH", help="NAME: users=2 context=128k for=coding"
)
@AS_JSON
def propose(inventory: Path, wants: tuple[str, ...], output_format: str) -> int:
    """Propose placements of deployments on the hosts of INVENTORY, the fastest first, each as an inventory to take.

    A WISH is the name of a new deployment and what it must do: `users`, concurrent requests (1); `context`, tokens of
    each (32k); `for`, a use case of recipes; `recipe`, vendor/name or vendor/name#variant. Repeat --want for more. The
    deployments that are there stay, perhaps with smaller shares of the memory.

    In every printed inventory `check` finds no new error apart from missing pins, and `plan` says that it fits. A
    recipe whose memory or speed is unknown is left out. Nothing is written.

    Exit codes: 0 proposed, 1 a wish cannot be met, or `sparkiac check` finds errors in INVENTORY, 2 bad input.
    """
    from sparkiac import pipeline
    from sparkiac.catalog import library
    from sparkiac.commands import editing
    from sparkiac.fix import placing
    from sparkiac.fix.nodes import CannotEdit
    from sparkiac.words import propose as words

    files, _, report = planned(inventory, output_format)
    shelf, _ = library.read(pipeline.recipe_files(files[0], pipeline.read_inventory(files[0]).document))
    text = files[0].raw.decode()
    wishes = _wishes(wants, text, shelf)
    try:
        found = placing.search(
            text, wishes, lambda wish: _matching(wish, shelf), lambda text: editing.checked(files, text)
        )
    except CannotEdit as reason:
        reject(f"{click.format_filename(inventory)}: nothing can be added to its text: {reason}")
    answer(output_format, words.proposals_data(found), lambda _: words.proposals(found))
    mention(report, inventory)
    return Exit.OK if found.proposals and not report.failed else Exit.FINDINGS


def _wishes(wants: tuple[str, ...], text: str, shelf: Library) -> list[Wish]:
    from sparkiac.fix.edits import entry_names

    wishes: list[Wish] = []
    taken = entry_names(text, "deployments", "services")
    for want in wants:
        wish = _wish(want, shelf)
        if wish.name in taken:
            reject(f"--want {want!r}: there is a deployment or service {wish.name} already")
        taken.append(wish.name)
        wishes.append(wish)
    return wishes


def _wish(want: str, shelf: Library) -> Wish:
    """Parse a wish; reject what is unknown and name what is known."""
    from sparkiac.fix.candidates import Wish
    from sparkiac.resolve import catalogued
    from sparkiac.words import entries

    name, colon, rest = want.partition(":")
    pairs = [each.partition("=") for each in rest.split()]
    values = {key: value for key, _, value in pairs}
    if not colon or len(values) < len(pairs) or not all(value and key in _KEYS for key, value in values.items()):
        reject(f"--want {want!r} is not {_FORM}")
    use_case, recipe = values.get("for"), values.get("recipe")
    if use_case is not None and use_case not in entries.USE_CASES:
        reject(f"--want {want!r}: unknown use case {use_case!r}; known: {', '.join(entries.USE_CASES)}")
    if recipe is not None:
        known("recipe", recipe, [each.name for each in catalogued.everything(shelf) if each.usable])
    sizes = {key: _size(want, key, values.get(key, default)) for key, default in (("users", "1"), ("context", "32k"))}
    return Wish(prompts.parser("--want", "NAME")(name.strip()), sizes["users"], sizes["context"], use_case, recipe)


def _size(want: str, key: str, text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        reject(f"--want {want!r}: {key}={text} is not a number such as 4 or 128k (131072)")
    return int(found[1]) * _UNITS[found[2].lower()]


def _matching(wish: Wish, shelf: Library) -> list[Catalogued]:
    """Return the recipes and variants that a wish accepts; a recipe stands for its variants too."""
    from sparkiac.resolve import catalogued

    def accepted(entry: Catalogued) -> bool:
        named = wish.recipe in {None, entry.name, entry.name.partition("#")[0]}
        return named and (wish.use_case is None or wish.use_case in entry.use_cases)

    return [each for each in catalogued.everything(shelf) if each.usable and "model" in each.values and accepted(each)]
