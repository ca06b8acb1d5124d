"""The pins of the shipped inventories: those that a source prints, with that source, and nothing made up."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

FOUND: Final = {
    "lab": set(),
    "pair": {"ENT100", "IMG003"},
    "ring3": {"MEM100"},
    "solo": set(),
    "switch4": {"MEM100"},
}
"""Inventory → warnings and errors: what config.json would prove, and the image that has to be built first."""
PRINTED: Final = {"digest", "commit", "revision"}
"""Values that the sources print."""
SOURCE: Final = re.compile(r"  # github\.com/[\w.-]+/[\w.-]+(?: at [0-9a-f]{8})?, \S+\.(?:yaml|py|md)(?:: .+)?")


def pins(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of a shipped lock."""
    lock = yaml.safe_load((ROOT / f"inventories/{name}.lock.yaml").read_text())
    assert lock.keys() == {"version", "images", "models"}
    for section in ("images", "models"):
        yield from lock[section].items()


def test_every_shipped_inventory_is_listed() -> None:
    shipped = {path.name.removesuffix(".yaml") for path in (ROOT / "inventories").glob("*.yaml")}
    assert shipped == {file for name in FOUND for file in (name, f"{name}.lock")}


@pytest.mark.parametrize("name", FOUND)
def test_each_pin_has_its_source_above_it_and_only_what_the_source_prints(name: str) -> None:
    lines = (ROOT / f"inventories/{name}.lock.yaml").read_text().splitlines()
    for key, entry in pins(name):
        assert SOURCE.fullmatch(lines[lines.index(f"  {key}:") - 1]), key
        assert entry.keys() <= PRINTED
        _, _, inline = key.partition("@")
        assert entry.get("digest", "") == inline, "the inventory or recipe has the digest too"


@pytest.mark.parametrize("name", FOUND)
def test_check_reports_only_what_the_sources_do_not_print(cli: Cli, name: str) -> None:
    findings = json.loads(cli("check", str(ROOT / f"inventories/{name}.yaml"), "--format", "json").out)["findings"]
    assert {each["code"] for each in findings if each["severity"] != "info"} == FOUND[name]
    assert len([each for each in findings if each["code"] == "MEM100"]) <= 1


@pytest.mark.parametrize("name", ["lab", "solo", "ring3", "switch4"])
def test_what_it_generates_has_no_pin_that_is_made_up_or_missing(cli: Cli, name: str, tmp_path: Any) -> None:  # noqa: ANN401
    outcome = cli("generate", str(ROOT / f"inventories/{name}.yaml"), "--output", str(tmp_path / "out"))
    assert outcome.code == 0
    assert "Cannot be applied" not in outcome.text
    composed = "".join(path.read_text() for path in (tmp_path / "out").glob("hosts/*/etc/sparkiac/*/compose.yaml"))
    for key, entry in pins(name):
        assert entry.get("commit", f"@{entry.get('digest')}") in composed, key


def test_lock_lists_what_is_missing(cli: Cli) -> None:
    outcome = cli("lock", str(ROOT / "inventories/lab.yaml"), "--check")
    assert (outcome.code, outcome.err.count("error LCK031")) == (3, 4)
    assert outcome.err.count("the entry in the lock is incomplete") == 4
