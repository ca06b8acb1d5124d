"""`sparkiac recipes`: the catalog's recipes, variants and fragments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkiac import engines
from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, CommandGroup, Exit, answer, known, reject
from sparkiac.commands.inventories import INVENTORY
from sparkiac.commands.recipes.writing import own, refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.catalog.library import Library
    from sparkiac.resolve.catalogued import Catalogued


@click.group(cls=CommandGroup)
def recipes() -> None:
    """List, search, write and fetch recipes: models with options that a source has shown to work.

    They are those of sparkiac's catalog and those in the folders `recipes` and `sources` of the current
    directory.
    """


@recipes.command("list")
@AS_JSON
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Include entries that are only mentioned, superseded or retired, with the reason.",
)
@click.option("--fragments", "only_fragments", is_flag=True, help="Only fragments.")
def list_(output_format: str, *, everything: bool, only_fragments: bool) -> int:
    """List recipes, their variants, and fragments."""
    from sparkiac import catalog
    from sparkiac.resolve import search
    from sparkiac.words import entries
    from sparkiac.words import recipes as words

    library = own()
    found = search.search(search.RecipeQuery(), library=library) if not only_fragments else ()
    usable = [entries.hit(each, library) for each in found]
    fragments = [entries.fragment(name) for name in catalog.fragment_names()]
    fragments = [each for each in fragments if everything or each["status"] == "recipe"]
    aside = entries.set_aside(library) if everything and not only_fragments else []
    left_out = [] if only_fragments else refused()
    data = {"fragments": fragments}
    data |= {} if only_fragments else {"recipes": usable, "set_aside": aside, "refused": left_out}
    answer(output_format, data, lambda width: words.all_entries(data, width))
    return Exit.OK


@recipes.command()
@click.argument("name", nargs=-1, required=True, shell_complete=completion.recipes)
@AS_JSON
def show(name: tuple[str, ...], output_format: str) -> int:
    """Show a recipe, a variant or a fragment with its sources.

    NAME is vendor/name, vendor/name#variant, or the name of a fragment.
    """
    from sparkiac.words import entries, recipe_page

    library = own()
    found = entries.named(_entry(name, library), library)
    answer(output_format, {"entry": found}, lambda _: recipe_page.page(found))
    return Exit.OK


@recipes.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--model", help="Text in the recipe's name, its model or its title.")
@click.option("--use-case", "use_cases", multiple=True, help="Use case: coding, vision, … May be repeated.")
@click.option(
    "--max-weights-gib", type=click.FloatRange(min=0, min_open=True), help="Maximum size of the weights in GiB."
)
@click.option("--nodes", type=click.IntRange(min=1), help="Number of machines.")
@click.option("--quantization", help="Text in the format of the weights, such as nvfp4.")
@click.option("--engine", help="Serving engine.")
@click.option("--image", help="Text in the image reference, such as nvcr.io.")
@click.option(
    "--fits-beside",
    "beside",
    multiple=True,
    metavar="RECIPE",
    help="Fits in the memory of one host together with RECIPE. May be repeated.",
)
@AS_JSON
def search(output_format: str, *, beside: tuple[str, ...], **criteria: Any) -> int:  # noqa: ANN401  click's values
    """Find recipes by model, use case, size, engine, image, or by what fits beside another one.

    A WORD is a part of the recipe's name, its model, its title or a use case. A recipe must match every WORD and every
    option; an unknown value does not match.
    """
    from sparkiac.resolve import search as finding
    from sparkiac.words import entries
    from sparkiac.words import recipes as words

    for use_case in criteria["use_cases"]:
        known("use case", use_case, entries.USE_CASES)
    if criteria["engine"] is not None:
        known("engine", criteria["engine"], engines.names())
    library = own()
    others = [entries.load(finding.load(_one_machine(name, library))) for name in beside]
    matching = finding.search(finding.RecipeQuery(**criteria), beside, library=library)
    hits = [entries.hit(each, library) for each in matching]
    if not hits and output_format == "text":
        click.echo("no recipe matches", err=True)
        return Exit.OK
    answer(output_format, {"recipes": hits, "beside": others}, lambda width: words.found(hits, others, width))
    return Exit.OK


@recipes.command()
@click.argument("name")
@click.option(
    "--from", "source", required=True, metavar="FILE|DEPLOYMENT", help="File of another tool, or a deployment."
)
@click.option(
    "--inventory", type=click.Path(path_type=Path), help="Inventory of the deployment; without it, --from is a file."
)
def new(name: str, source: str, inventory: Path | None) -> int:
    """Write the recipe NAME, vendor/name, to recipes/NAME.yaml in the current directory.

    From a file, it contains what the file starts, as `sparkiac import --as recipe` converts it; the report goes to
    standard error. From a deployment, it contains the values of its recipe, variant, fragments and defaults with those
    of the deployment. Addresses, port, model store and keys stay in the inventory.

    Exit codes: 0 written, 1 written, but a part of the file was lost, 2 bad input, 6 the file cannot be written.
    """
    from sparkiac.commands.recipes import writing

    return writing.write(name, source, inventory)


@recipes.command()
@INVENTORY
@click.argument("names", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--upgrade",
    is_flag=True,
    help="Fetch the current commit of the revision, or digest of the tag: of each SOURCE, or of all.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change; exit 3 if anything would.")
def fetch(inventory: Path, names: tuple[str, ...], *, upgrade: bool, dry_run: bool) -> int:
    """Fetch the recipes of the `sources` of INVENTORY, write them below `sources`, and pin them in the lock.

    A source is a Git repository or an OCI artifact. If the lock pins it, it is fetched at its commit or digest, and
    only if its files are missing or changed; a different content is refused. Other sources are fetched at their
    revision or tag. The diff of all files is printed. All other commands only read the files, without a network, and
    refuse what differs from the lock.

    Exit codes: 0 done, 1 refused: no recipes, or not what the lock pins, 2 bad input, 3 --dry-run found changes, 6 a
    repository or file cannot be read or written.
    """
    from sparkiac.commands.recipes import fetching

    if names and not upgrade:
        reject(f"{names[0]!r} selects a source to upgrade; add --upgrade")
    return fetching.fetch(inventory, names, upgrade=upgrade, dry_run=dry_run)


def _entry(words: Iterable[str], library: Library) -> str:
    """Return the name of an existing entry; accept `fragment NAME`, as findings print it."""
    from sparkiac.words import entries

    parts = list(words)
    name = parts[1] if parts[0] == "fragment" and len(parts) == 2 else " ".join(parts)  # noqa: PLR2004
    return known("recipe, variant or fragment", name, entries.names(library))


def _one_machine(name: str, library: Library) -> Catalogued:
    from sparkiac.resolve import catalogued

    found = catalogued.named(known("recipe or variant", name, catalogued.names(library)), library)
    if found.nodes > 1:
        reject(f"{name} needs {found.nodes} hosts; --fits-beside accepts only recipes for one host")
    return found
