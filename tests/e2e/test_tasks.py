"""The pages of tasks that need hosts, as an owner follows them one after the other, from the first model to the last.

What needs hosts must print what its page shows; tests/docs/test_tasks.py compares the rest, with sizes of the catalog.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from tests.conftest import ROOT
from tests.docs.blocks import blocks, edited, shows, steps
from tests.e2e import test_tutorial
from tests.e2e.test_tutorial import PLACES, placed, ran, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docs.blocks import Block
    from tests.e2e.newcomer import Newcomer

pytestmark = pytest.mark.deep
built, differences, hub = test_tutorial.built, test_tutorial.differences, test_tutorial.hub
mirror, newcomer = test_tutorial.mirror, test_tutorial.newcomer

INVENTORY: Final = "inventories/home.yaml"
ORDER: Final = (
    *("why-slow", "rotate-a-key", "longer-context", "what-changed", "go-back", "power", "add-a-host", "retire-a-host"),
    *("another-laptop", "free-the-disk", "a-colleague", "uninstall"),
)
HERE: Final = "tests/e2e/test_tasks.py"
CHANGED: Final = "Then [apply the change]"
WITH_SECRETS: Final = "`-- -e @secrets/home.json`"


def typed(page: Path) -> list[Block]:
    """Return the blocks that are run here or elsewhere, in the order of the page."""
    found = [each for language in ("console", "yaml") for each in blocks(page, language)]
    return sorted((each for each in found if each.mark is None or HERE in each.mark), key=lambda block: block.line)


def follow(newcomer: Newcomer, page: Path) -> None:
    """Type what a page says."""
    newcomer.types("cd ~/home")
    for block in typed(page):
        if block.language == "yaml":
            inventory = newcomer.types(f"cat {INVENTORY}").output
            write(newcomer, INVENTORY, edited(inventory, placed(block.text)))
            continue
        for step in steps(block):
            done = ran(newcomer, placed(step.command), step=page.stem)
            assert block.mark is None or shows(step.printed, printed(done.output)), done.output


def printed(output: str) -> str:
    """Return an output with the addresses of the pages."""
    for page, here in PLACES.items():
        output = output.replace(here, page)
    return output


def test_a_first_model(newcomer: Newcomer, differences: str) -> None:
    for block in typed(ROOT / "docs/tasks/first-model.md"):
        for step in steps(block):
            done = ran(newcomer, placed(step.command), step="first-model")
            assert block.mark is None or shows(step.printed, printed(done.output)), done.output
            if step.command.startswith("cd home"):
                write(newcomer, INVENTORY, differences, mode=">>")


@pytest.mark.parametrize("name", ORDER)
def test_a_task(newcomer: Newcomer, name: str) -> None:
    page = ROOT / f"docs/tasks/{name}.md"
    if name == "retire-a-host":
        newcomer.types(f"cd ~/home; sparkiac remove gemma-4-26b-a4b-it-fp8 --from {INVENTORY}")
    follow(newcomer, page)
    text = re.sub(r"\s+", " ", page.read_text())
    if CHANGED in text:
        for block in typed(ROOT / "docs/tasks.md"):
            for step in steps(block):
                secrets = (
                    " -- -e @secrets/home.json" if step.command == "sparkiac apply" and WITH_SECRETS in text else ""
                )
                ran(newcomer, step.command + secrets, step=name)
