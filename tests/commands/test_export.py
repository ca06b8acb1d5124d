"""`sparkiac export`: what goes to which stream, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lab.yaml", "chat"], "Missing option '--as'"),
        (["lab.yaml", "chat", "--as", "composer"], "unknown format 'composer'; did you mean 'compose'?"),
        (["lab.yaml", "chatt", "--as", "compose"], "unknown deployment 'chatt'; did you mean 'chat'?"),
        (["missing.yaml", "chat", "--as", "compose"], "missing.yaml does not exist"),
        (["lab.yaml", "chat", "--as", "compose", "--output", "lab.yaml"], "lab.yaml exists; name another file"),
    ],
)
def test_wrong_use_ends_with_a_sentence(lab: Path, cli: Cli, arguments: list[str], said: str) -> None:
    outcome = cli("export", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert sorted(path.name for path in lab.iterdir()) == ["lab.lock.yaml", "lab.yaml"]


def test_the_text_goes_to_standard_output_and_the_notes_beside_it(lab: Path, cli: Cli) -> None:
    outcome = cli("export", "lab.yaml", "chat", "--as", "docker-run")
    assert outcome.code == 0
    assert outcome.out.startswith("#!/bin/sh\n# chat: example/model, recipe base/single-spark.\n")
    notes = outcome.err.splitlines()
    assert notes[0].startswith("note: weights: /srv/models must contain example/model at 3333")
    assert all(f"# {note.removeprefix('note: ')}\n" in outcome.out for note in notes)
    assert cli("export", "lab.yaml", "chat", "--as", "docker-run", "--output", "run.sh").out == ""
    assert (lab / "run.sh").read_text() == outcome.out


def test_a_deployment_whose_rules_complain_can_leave_all_the_same(lab: Path, cli: Cli) -> None:
    (lab / "lab.yaml").write_text(deployment("set: {max_model_len: -5}", "image: vllm/vllm-openai:v0.28.0"))
    assert cli("check", "lab.yaml").code == 1
    assert cli("export", "lab.yaml", "chat", "--as", "sparkrun").code == 0


def test_an_inventory_that_cannot_be_read_is_reported_as_everywhere(lab: Path, cli: Cli) -> None:
    (lab / "lab.yaml").write_text(deployment("port: no"))
    outcome = cli("export", "lab.yaml", "chat", "--as", "compose")
    assert (outcome.code, outcome.out) == (2, "")
    assert "lab.yaml:" in outcome.err


def test_what_a_format_has_no_words_for_names_one_that_has(lab: Path, cli: Cli) -> None:
    text = deployment("bind: loopback", "image: example.org/sglang:1").replace("base/single-spark", "base/sglang")
    (lab / "lab.yaml").write_text(text)
    (lab / "lab.lock.yaml").write_text(LOCK)
    outcome = cli("export", "lab.yaml", "chat", "--as", "eugr")
    assert (outcome.code, outcome.out) == (2, "")
    assert "eugr's launcher only runs vLLM; the engine of chat is sglang" in outcome.err
    assert "docker-run or compose" in outcome.err
