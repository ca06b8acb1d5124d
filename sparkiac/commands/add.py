"""`sparkiac add`: add a deployment of a recipe to an inventory."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sparkiac.commands import completion, prompts
from sparkiac.commands.inputs import FORMAT, Exit, known, planned, reject, show
from sparkiac.commands.inventories import inventory_option
from sparkiac.commands.prompts import FILL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.catalog.library import Library
    from sparkiac.fix.fitting import Fitted, Shortage
    from sparkiac.memory.values import Unknown
    from sparkiac.pipeline import InputFile, Outcome
    from sparkiac.plan import HostPlan, Plan
    from sparkiac.report import Finding, Report
    from sparkiac.resolve.catalogued import Catalogued

_MEMORY: Final = "MEM"
"""Beginning of the codes of errors that smaller shares or contexts can remove."""


@click.command()
@click.argument("recipe", shell_complete=completion.recipes)
@click.option(
    "--on",
    "on",
    required=True,
    shell_complete=completion.hosts,
    metavar="HOST[,HOST]",
    help="Host or hosts that serve it, leader first.",
)
@inventory_option("--to")
@click.option("--name", help="Name of the deployment; default: that of the model or recipe.")
@click.option("--model", metavar="MODEL", help="Model, organisation/name, if the recipe has none.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port; default: that of the recipe, or the next free one.")
@FILL
@click.option("--yes", is_flag=True, help="Write what fits without a question.")
@FORMAT
def add(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    recipe: str,
    on: str,
    inventory: Path,
    name: str | None,
    model: str | None,
    port: int | None,
    fills: tuple[str, ...],
    output_format: str,
    *,
    yes: bool,
) -> int:
    """Add a deployment of RECIPE to an inventory and print the diff; all other lines stay as they are.

    RECIPE is vendor/name or vendor/name#variant, of the catalog, of the repository's `recipes` or of the inventory's
    `sources`. It is refused if the inventory would have new errors, such as a taken port or missing links.

    If the memory is too small for it beside the deployments that are there, shares of the memory and contexts with
    which all of them fit are proposed: what each of them loses, the order in which they start, and the diff. It is
    written after a question. Without a terminal, --yes writes it.

    Exit codes: 0 done, 1 refused, with the findings, 2 bad input, 5 the inventory changed during the run, 6 it cannot
    be read or written.
    """
    from sparkiac import pipeline
    from sparkiac.catalog import library
    from sparkiac.fix.edits import entry_names

    files, plan, report = planned(inventory, output_format)
    former = files[0].raw.decode()
    builds = tuple(entry_names(former, "builds"))
    shelf, _ = library.read(pipeline.recipe_files(files[0], pipeline.read_inventory(files[0]).document))
    hosts = tuple(each.strip() for each in on.split(","))
    wanted = _DeploymentDraft(recipe, hosts, name, model, port, fills, builds, shelf)
    new = _entries(wanted, plan, entry_names(former, "deployments", "services"))
    draft = _InventoryDraft(inventory, files, report, _edited(inventory, former, new), wanted, new)
    return _saved(draft, output_format, yes=yes)


def _saved(draft: _InventoryDraft, output_format: str, *, yes: bool) -> int:
    """Write the inventory, or propose what fits if only memory is missing."""
    from sparkiac.commands import editing, terminal
    from sparkiac.fix.fitting import Fitted
    from sparkiac.words import propose as words

    errors = draft.errors(draft.text)
    found = _fitted(draft) if errors and all(each.code.startswith(_MEMORY) for each in errors) else None
    if isinstance(found, Fitted) and not draft.errors(found.text):
        return _offered(draft, found, output_format, errors, yes=yes)
    code = editing.save(draft.inventory, draft.files, draft.report, draft.text, output_format)
    if output_format == "text" and found is not None and not isinstance(found, Fitted):
        click.echo(terminal.drawn(words.short(found, _nearest(draft))), err=True, nl=False)
    return code


class _InventoryDraft(NamedTuple):
    """An inventory with the new deployment, which is not written yet."""

    inventory: Path
    files: tuple[InputFile, InputFile | None]
    report: Report
    """The findings of the former text."""
    text: str
    wanted: _DeploymentDraft
    new: _Entries

    def check(self, text: str) -> Outcome:
        """Check the inventory with another text."""
        from sparkiac.commands import editing

        return editing.checked(self.files, text)

    def errors(self, text: str) -> list[Finding]:
        """Return the errors that the inventory has only with another text."""
        return self.check(text).report.new_errors(self.report)


def _fitted(draft: _InventoryDraft) -> Fitted | Shortage | Unknown:
    from sparkiac.fix import fitting
    from sparkiac.fix.nodes import CannotEdit

    try:
        return fitting.fitted(draft.text, draft.wanted.hosts, lambda text: draft.check(text).plan)
    except CannotEdit as reason:
        reject(f"{draft.inventory}: the shares must be changed by hand: {reason}")


def _offered(draft: _InventoryDraft, found: Fitted, output_format: str, errors: Sequence[Finding], *, yes: bool) -> int:
    """Print what fits and write it, after a question on a terminal; without a terminal, only with --yes."""
    from sparkiac import write
    from sparkiac.commands import editing, terminal
    from sparkiac.report import Report
    from sparkiac.words import propose as words

    inventory, former = draft.inventory, draft.files[0].raw
    diff, data = write.diff_of(str(inventory), former, found.text.encode()), words.fitted_data(found)
    as_text = output_format == "text"
    if as_text:
        terminal.show(words.fitted(found, draft.new.name))
        click.echo(diff, nl=False)
    if not yes and not (as_text and os.isatty(0)):
        if not as_text:
            show(Report.of(errors), output_format, diff=diff, proposal=data)
        click.echo(f"{inventory}: nothing was written; --yes writes this", err=True)
        return Exit.FINDINGS
    if not yes:
        prompts.agree(f"Write {inventory}?")
    return editing.save(inventory, draft.files, draft.report, found.text, output_format, data)


def _nearest(draft: _InventoryDraft) -> str | None:
    """Return another host on which the new deployment fits, or else the largest recipe of its kind that fits here."""
    from sparkiac.fix import edits
    from sparkiac.report import Edit

    plan = draft.check(draft.text).plan
    assert plan is not None, "only memory is missing"  # noqa: S101
    hosts, text, name = draft.wanted.hosts, draft.text, draft.new.name
    for host in (each.name for each in plan.hosts if len(hosts) == 1 and each.name not in hosts):
        if not draft.errors(edits.edited(text, [Edit(("deployments", name, "hosts"), host)])):
            return f"{name} fits on {host} (--on {host})"
    return _smaller(draft, next(each for each in plan.hosts if each.name in hosts))


def _smaller(draft: _InventoryDraft, host: HostPlan) -> str | None:
    """Return the recipe with the largest weights for one of the same uses that fits beside the others of a host."""
    from sparkiac import pipeline
    from sparkiac.memory.values import least_bytes
    from sparkiac.resolve import catalogued, search

    written = pipeline.read_inventory(draft.files[0]).value
    assert written is not None, "it has a plan"  # noqa: S101
    others = [each for name, each in written.deployments.items() if name in host.proofs]
    beside = tuple(catalogued.full_name(each.recipe, each.variant) for each in others if each.recipe)
    shelf = draft.wanted.library
    uses = set(catalogued.named(draft.wanted.recipe, shelf).use_cases)
    found = search.search(search.RecipeQuery(), beside, library=shelf, memory_bytes=host.memory_bytes)
    known = [each for each in found if uses & set(each.found.use_cases) and each.room and each.room.fits]
    largest = max(known, key=lambda each: least_bytes(each.room.weights[-1:]) if each.room else 0, default=None)
    return f"{largest.found.name} fits beside them" if largest and len(beside) == len(others) else None


def _edited(inventory: Path, text: str, new: _Entries) -> str:
    from sparkiac.fix.edits import with_entry
    from sparkiac.fix.nodes import CannotEdit

    try:
        text = with_entry(text, "deployments", new.name, new.deployment)
        for build, values in new.builds.items():
            text = with_entry(text, "builds", build, values)
    except CannotEdit as reason:
        reject(f"{inventory}: {new.name} must be added by hand: {reason}")
    return text


class _DeploymentDraft(NamedTuple):
    """Options of the command line about the deployment."""

    recipe: str
    hosts: tuple[str, ...]
    name: str | None
    model: str | None
    port: int | None
    fills: tuple[str, ...]
    builds: tuple[str, ...]
    """Images that the inventory builds."""
    library: Library
    """The recipes that the inventory can use."""


class _Entries(NamedTuple):
    """Entries that are added to an inventory."""

    name: str
    deployment: dict[str, Any]
    builds: dict[str, dict[str, Any]]


def _entries(wanted: _DeploymentDraft, plan: Plan, taken: Sequence[str]) -> _Entries:
    """Return the deployment, whose name is not `taken`, and the build of its image. Raises click.UsageError."""
    from sparkiac.commands.recipes import filling

    chosen = filling.deployable(wanted.recipe, library=wanted.library)
    _check_hosts(wanted, chosen, plan)
    model = _model(wanted.model, chosen)
    recipe, _, variant = chosen.name.partition("#")
    values: dict[str, Any] = {"recipe": recipe}
    values |= {"variant": variant} if variant else {}
    values |= {"model": model} if model else {}
    values["hosts"] = list(wanted.hosts) if len(wanted.hosts) > 1 else wanted.hosts[0]
    port = _port(wanted, chosen.values.get("port"), plan)
    values |= {"port": port} if port else {}
    fills = [filling.option(text) for text in wanted.fills]
    filled = filling.filled(chosen.name, filling.left_open(chosen, wanted.builds), fills)
    filling.refuse_unused(fills)
    return _Entries(_name(wanted.name, model or recipe, taken), values | filled.deployment, filled.builds)


def _check_hosts(wanted: _DeploymentDraft, chosen: Catalogued, plan: Plan) -> None:
    for name in wanted.hosts:
        known("host", name, [host.name for host in plan.hosts])
    if len(wanted.hosts) != chosen.nodes:
        several = "s" if chosen.nodes > 1 else ""
        reject(f"{chosen.name} needs {chosen.nodes} host{several}, but --on names {len(wanted.hosts)}")


def _model(given: str | None, chosen: Catalogued) -> str | None:
    """Return the model to write; None if it is that of the recipe."""
    if given is not None:
        return prompts.parser("--model", "HANDLE")(given)
    if "model" not in chosen.values:
        reject(f"{chosen.name} has no model of its own: add --model ORGANISATION/NAME")
    return None


def _port(wanted: _DeploymentDraft, usual: int | None, plan: Plan) -> int | None:
    """Return the port to write; None if that of the recipe is free on all hosts."""
    from sparkiac.fix.candidates import FIRST_PORT

    used = {each.port for host in plan.hosts if host.name in wanted.hosts for each in host.preflight.ports}
    if wanted.port is not None:
        return wanted.port
    free = next(port for port in count(usual or FIRST_PORT) if port not in used)
    return None if free == usual else free


def _name(given: str | None, model: str, taken: Sequence[str]) -> str:
    from sparkiac.foreign.draft import slug, unused

    if given is None:
        return unused(slug(model), taken)
    if given in taken:
        reject(f"--name {given}: the inventory has a deployment or service of this name")
    return prompts.parser("--name", "NAME")(given)
