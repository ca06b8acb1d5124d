"""Entries that say how their sources know that they run: measured figures, pins and links are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from sparkiac.memory.values import Unknown
from sparkiac.plan import memory_use
from sparkiac.resolve import catalogued
from sparkiac.words import entries, recipe_page
from tests.catalog.test_reference import inventory
from tests.every import every
from tests.plan.fleets import checked
from tests.resolve.built import as_yaml

SOURCES: Final = Path("docs/sources.md").read_text()
NAMES: Final = tuple(re.findall(r"^\| ([^|]+?) \|", SOURCES, re.MULTILINE))
"""Names of documents that docs/sources.md explains."""
KNOWN: Final = {each.name: each for each in catalogued.everything() if each.entry.evidence}
MEASURED: Final = [name for name, each in KNOWN.items() if each.entry.evidence == "measured"]
PROFILES: Final = [name for name, each in KNOWN.items() if each.entry.evidence == "vendor-profile"]


@every(KNOWN)
def test_each_source_is_a_link_or_a_document_that_is_explained(name: str) -> None:
    sources = KNOWN[name].entry.sources
    assert [each for each in sources if not each.startswith(("github.com/", *NAMES))] == []


@every(MEASURED)
def test_what_was_measured_has_figures_of_a_source(name: str) -> None:
    figures = KNOWN[name].entry.measured
    assert figures
    assert [each.source for each in figures if not each.source.startswith(NAMES)] == []


@every(PROFILES)
def test_a_profile_without_figures_quotes_none(name: str) -> None:
    assert KNOWN[name].entry.measured == ()


@every(MEASURED)
def test_the_image_is_the_one_that_ran_by_its_digest(name: str) -> None:
    assert re.search(r"@sha256:[0-9a-f]{64}$", KNOWN[name].values["image"])


@pytest.mark.parametrize("name", KNOWN)
def test_it_is_proved_that_it_fits_or_said_what_is_unknown(name: str) -> None:
    """By the facts of the catalog alone: a lock adds those of config.json."""
    outcome = checked(as_yaml(inventory(KNOWN[name])), allow_unlocked=True)
    assert outcome.plan is not None
    account = memory_use.by_turn(outcome.plan.hosts[0])[0].use.accounts[0]
    assert account.fit.missing if isinstance(account.fit, Unknown) else account.fit.one


@pytest.mark.parametrize("name", [MEASURED[0], PROFILES[0], "base/single-spark"])
def test_the_page_says_how_the_source_knows(name: str) -> None:
    shown = dict(recipe_page._facts(entries.named(name)))  # noqa: SLF001  the lines at the top of the page
    told = {"measured": "measured its command", "vendor-profile": "without figures"}
    evidence = catalogued.named(name).entry.evidence
    assert ("evidence" in shown) == (evidence is not None)
    assert evidence is None or told[evidence] in shown["evidence"]
