"""docs/memory.md says what the tables of tests/memory/stated.py say."""

from __future__ import annotations

import statistics

import pytest

from tests.conftest import ROOT
from tests.memory import rates, stated
from tests.memory.rates import RATES


def test_the_page_has_the_tables_as_they_are_predicted_now() -> None:
    page = (ROOT / "docs/memory.md").read_text()
    for table in stated.tables().split("\n\n"):
        assert table.strip() in page, "renew docs/memory.md with `python -m tests.memory.stated`"


def test_the_pool_of_the_guide_is_within_3_percent() -> None:
    pool, tokens, requests, *exact = list(stated.memory())[:5]
    for figure in (pool, tokens, requests):
        assert abs(figure.error) < 0.03
    for figure in exact:
        assert abs(figure.error) < 1e-4


def test_the_page_has_the_table_of_speeds() -> None:
    assert rates.table().strip() in (ROOT / "docs/memory.md").read_text(), "renew it: python -m tests.memory.rates"


@pytest.mark.parametrize(("drafts", "most"), [(False, 2.0), (True, 3.0)])
def test_the_median_range_is_narrow_without_eager_mode_and_groups(drafts: bool, most: float) -> None:  # noqa: FBT001  a parameter
    plain = [row for row in RATES if drafts or (row.ranks == 1 and "enforce_eager" not in row.given)]
    assert statistics.median(row.width for row in plain if bool(row.drafts) is drafts) <= most


def test_the_median_range_of_eager_mode_and_groups_is_wider() -> None:
    wide = [row.width for row in RATES if not row.drafts and (row.ranks > 1 or "enforce_eager" in row.given)]
    assert len(wide) == 4
    assert statistics.median(wide) <= 3.3


def test_published_speeds_are_in_their_range_but_for_these() -> None:
    assert [row.what for row in RATES if not row.inside] == [
        "Qwen3.5-122B NVFP4",
        "Gemma-4-26B FP8, MTP 4, reasoning",
        "DeepSeek-V4-Flash on two, MTP 2 at 65,536",
    ]
    assert len(RATES) == 39
