"""docs/memory.md says what the tables of tests/memory/stated.py say."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.memory import stated


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


def test_every_stated_speed_lies_in_the_range_that_was_drawn_around_them() -> None:
    outside = [row.what for row in stated.speeds() if not row.expected.low <= row.stated <= row.expected.high]
    assert outside == []
