"""The form of a recorded start."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sparkiac.model.records import StartRecord

LEAST = {
    "subject": {"model": "Qwen/Qwen3-8B", "platform": "dgx-spark"},
    "source": {"grade": "log", "link": "start.log"},
}


def test_figures_that_a_source_does_not_state_are_unknown() -> None:
    found = StartRecord.model_validate(LEAST)
    assert found.terms.pool_bytes is None
    assert found.cached.tokens is None
    assert found.speeds == ()


@pytest.mark.parametrize("wrong", [{"pool": 3}, {"format": "sparkiac start 2"}, {"runner": 3}])
def test_another_form_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        StartRecord.model_validate({**LEAST, **wrong})


def test_a_record_is_read_as_it_was_written() -> None:
    record = StartRecord.model_validate(
        {**LEAST, "terms": {"pool_bytes": 5}, "speeds": [{"kind": "decode", "rate": 12.5, "context": 256}]},
        strict=False,
    )
    assert StartRecord.model_validate_json(record.model_dump_json(exclude_defaults=True)) == record
