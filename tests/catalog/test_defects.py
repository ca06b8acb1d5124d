"""Each mistake and contradiction of the sources is found, settled in the catalog, or named with the reason."""

from __future__ import annotations

import re
from typing import Final

import pytest

from sparkiac import catalog
from sparkiac.resolve import catalogued
from tests.catalog.defects import DEFECTS, Found, Held, Says, Untold
from tests.conftest import ROOT
from tests.plan.fleets import checked

FACTS: Final = ROOT.parent / "shared" / "facts"
COUNT: Final = 30
GIB, MILLION = 1 << 30, 10**6
ENTRIES: Final = [(name, how) for name, ways in DEFECTS.items() for how in ways]
ROWS: Final = {0.85: (76, 4.8, 74), 0.5: (39, 2.4, 37), 0.4: (23, 1.4, 22)}
"""Spark guide L355-357: share of the memory → GiB of the pool, million tokens, requests of 64K tokens."""


def of(kind: type) -> list[tuple[str, object]]:
    return [(name, how) for name, how in ENTRIES if isinstance(how, kind)]


def test_no_defect_is_missing() -> None:
    assert list(DEFECTS) == [f"D{number}" for number in range(1, COUNT + 1)]
    assert all(DEFECTS.values())


def test_the_list_of_defects_is_whole() -> None:
    """The list was made from the sources, and is not part of this project."""
    if not FACTS.is_dir():
        pytest.skip("opt-in: needs the list beside this checkout, ../shared/facts")
    texts = "".join(path.read_text() for path in FACTS.glob("*.md"))
    assert re.findall(r"^\| (D[0-9]+) \|", texts, re.MULTILINE) == list(DEFECTS)


@pytest.mark.parametrize(("name", "how"), of(Found))
def test_a_printed_mistake_is_found(name: str, how: Found) -> None:
    report = checked(how.text, allow_unlocked=True, hidden=frozenset()).report
    assert how.code in {finding.code for finding in report.findings}, name


@pytest.mark.parametrize(("name", "how"), of(Says))
def test_a_contradiction_is_settled_in_the_recipe_and_reported_there(name: str, how: Says) -> None:
    found = catalogued.named(how.entry)
    value: object = found.values if how.key else {}
    for key in how.key:
        assert isinstance(value, dict)
        value = value.get(key)
    assert value == how.value, name
    entry = found.entry
    told = [*entry.notes, *entry.not_verified, *(f"{each.what}: {each.why}" for each in entry.corrections)]
    assert not how.noted or any(how.noted in each for each in told), name


@pytest.mark.parametrize(("name", "how"), of(Held))
def test_what_shows_the_others_is_there(name: str, how: Held) -> None:
    file, _, test = how.test.partition("::")
    assert f"def {test}(" in (ROOT / file).read_text(), name


def test_few_are_only_named() -> None:
    assert [name for name, _ in of(Untold)] == ["D20", "D21"]


# Figures


def test_one_row_of_the_table_does_not_fit_the_other_two() -> None:
    """The pool grows with the share in a straight line; two of the rows give the third one."""
    (high, (most, *_)), _, (low, (least, *_)) = ROWS.items()
    between = least + (most - least) * (0.5 - low) / (high - low)
    tokens = between * GIB / (76.49 * GIB / 4_843_965)
    assert (round(between, 1), round(tokens / MILLION, 1), round(tokens / 65_536, 1)) == (34.8, 2.2, 33.6)
    assert ROWS[0.5] == (39, 2.4, 37)
    told = catalog.fragment("single-user")
    assert told is not None
    assert told.value is not None
    assert any(
        "39 GiB, 2.4M tokens, 37 requests" in each.value and "does not fit" in each.value
        for each in told.value.measured
    )


def test_the_kb_are_kib() -> None:
    """76.49 GiB for 4,843,965 tokens are called 16.6 KB each."""
    token_bytes = 76.49 * GIB / 4_843_965
    assert (round(token_bytes / 1024, 1), round(token_bytes / 1000, 1)) == (16.6, 17.0)


def test_the_share_of_the_post_is_one_of_all_memory() -> None:
    """Of the 62 GB that CUDA is said to see, 0.55 would be 34."""
    assert (round(0.55 * 119.6, 1), round(0.55 * 62, 1)) == (65.8, 34.1)


def test_the_gain_that_the_posts_table_does_not_show_is_not_a_figure() -> None:
    """It stands in a note, beside what contradicts it, and among the measured values of no entry."""
    measured = [each for found in catalogued.everything() for each in found.entry.measured]
    assert len(measured) > 50
    assert [each for each in measured if "40 %" in each.value or "40%" in each.value] == []
