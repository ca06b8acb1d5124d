"""Numbers and a recipe's own values, as the rules about options read them."""

from __future__ import annotations

import pytest

from sparkiac.resolve import catalogued
from sparkiac.rules.deployments import count
from sparkiac.rules.hst008_model_needs_its_directory import served_from_directory
from tests.plan.fleets import container, deployment


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("4096", 4096),
        ("64k", 64_000),
        ("64K", 65_536),
        ("1m", 1_000_000),
        ("1.5M", 1_572_864),
        ("auto", None),
        ("-1", None),
    ],
)
def test_counts_are_read_as_vllm_reads_them(written: str, number: int | None) -> None:
    assert count(container(deployment(f"set: {{max_model_len: {written}}}")), "max_model_len") == number
    assert count(container(deployment()), "block_size") is None


def test_models_served_from_a_directory_match_the_model_path_of_their_entries() -> None:
    models: dict[str, list[catalogued.Catalogued]] = {}
    for each in catalogued.everything():
        models.setdefault(each.values.get("model", ""), []).append(each)
    found = {model: served_from_directory(model) for model in models if model}
    wanted = {
        model: entries[0].name if all("model_path" in each.values for each in entries) else None
        for model, entries in models.items()
        if model
    }
    assert found == wanted
    assert {None} < set(found.values())
    assert served_from_directory("example/model") is None
