"""Which endpoints the fleet timer takes as those of another turn."""

from __future__ import annotations

import pytest

from sparkiac.host.fleet import check

ENTRIES = [
    {"name": "web", "turns": []},
    {"name": "qwen36", "turns": ["day"]},
    {"name": "gemma4", "turns": ["day"]},
    {"name": "ds4", "turns": ["night"]},
]
DAY, NIGHT = {"qwen36", "gemma4"}, {"ds4"}


@pytest.mark.parametrize(
    ("failing", "resting"),
    [
        (NIGHT, NIGHT),
        (DAY, DAY),
        ({"qwen36", *NIGHT}, NIGHT),
        ({"web", *DAY}, DAY),
        ({*DAY, *NIGHT}, NIGHT),
        (set(), NIGHT),
    ],
)
def test_the_turn_that_fails_least_is_the_current_one(failing: set[str], resting: set[str]) -> None:
    """Of a turn in which one of two fails, the one that fails is reported; if all fail, those of the first turn are."""
    faults = {entry["name"]: "refused" if entry["name"] in failing else "" for entry in ENTRIES}
    assert check.resting_endpoints(ENTRIES, faults) == resting


def test_a_fleet_without_turns() -> None:
    assert check.resting_endpoints(ENTRIES[:1], {"web": "refused"}) == set()
