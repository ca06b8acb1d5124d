"""SGLang's speculative decoding: an algorithm and the options that belong to it stay together."""

from __future__ import annotations

import pytest

from tests.importers.texts import imported

LINE = "docker run -p 1:30000 lmsysorg/sglang:spark python3 -m sglang.launch_server --model-path org/Name-7B"


@pytest.mark.parametrize(
    ("algorithm", "method"), [("DFLASH", "dflash"), ("DSPARK", "dspark"), ("EAGLE", "eagle"), ("EAGLE3", "eagle3")]
)
def test_an_algorithm_is_kept_with_its_drafter_and_its_options(algorithm: str, method: str) -> None:
    words = f"--speculative-algorithm {algorithm} --speculative-draft-model-path org/draft --speculative-num-steps 3"
    found = imported(f"{LINE} {words}")
    assert found.entry.data["speculative"] == {"method": method, "model": "org/draft"}
    assert found.entry.data["set"] == {"speculative_num_steps": 3}
    assert found.whys("lost") == {}


def test_eagle_without_a_drafter_uses_the_heads_of_the_checkpoint() -> None:
    found = imported(f"{LINE} --speculative-algorithm EAGLE --speculative-num-draft-tokens 4")
    assert found.entry.data["speculative"] == {"method": "mtp", "num_speculative_tokens": 3}


def test_an_unknown_algorithm_is_lost_with_its_options() -> None:
    found = imported(f"{LINE} --speculative-algorithm NEWEST --speculative-num-steps 3")
    assert "set" not in found.entry.data
    assert list(found.whys("lost")) == ["NEWEST, speculative_num_steps"]


def test_options_added_for_every_server_of_the_engine_are_noted() -> None:
    assert "--enable-metrics" in imported(LINE).whys("corrected")
    assert "--enable-metrics" not in imported(f"{LINE} --enable-metrics").whys("corrected")


def test_options_of_speculation_without_an_algorithm_are_named() -> None:
    line = "docker run -p 1:1 lmsysorg/sglang:spark sglang serve --model-path a/b --speculative-num-draft-tokens 4"
    found = imported(line)
    assert any("speculative_num_draft_tokens" in what for what in found.whys("lost"))
    assert found.entry.kind == "deployment"


def test_the_short_spelling_of_the_algorithm_is_known() -> None:
    line = "docker run -p 1:1 lmsysorg/sglang:spark sglang serve --model-path a/b --speculative-algo NEXTN"
    assert imported(line).entry.data["speculative"]["method"] == "mtp"
