"""A lock that says two things about one pin: an error at the line of the pin, and nothing is generated."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.report import Severity
from tests.plan.fleets import COMMIT, LOCK, ONES, TWOS, checked, deployment, said

OTHER: Final = "4" * 40
HASH, CHANGED = "5" * 64, "6" * 64
TEMPLATE: Final = "hf://example/model/chat.jinja"
MODEL: Final = f'commit: "{COMMIT}", tensor_bytes'
HELD: Final = f'files: {{chat.jinja: {{size_bytes: 1, sha256: "{HASH}"}}}}, {MODEL}'


def locked(image: str = ONES, model: str = MODEL, file: str | None = None) -> str:
    """Write a lock with an image that its key names by digest, a model, and perhaps a file of the model."""
    files = "" if file is None else f"files:\n  {TEMPLATE}: {{{file}}}\n"
    text = LOCK.replace("images:\n", f'images:\n  example.org/vllm:1@{ONES}: {{digest: "{image}"}}\n')
    return text.replace(MODEL, model, 1) + files


@pytest.mark.parametrize(
    ("lock", "place"),
    [
        (
            locked(image=TWOS),
            f"3:104 digest of images.example.org/vllm:1@{ONES} is {TWOS}, but its key names {ONES}",
        ),
        (
            locked(model=f'revision: "{OTHER}", {MODEL}'),
            f"7:81 commit of models.example/model is {COMMIT}, but its revision names {OTHER}",
        ),
        (
            locked(file=f'sha256: "{HASH}", commit: "{COMMIT}", revision: "{OTHER}"'),
            f"10:119 commit of files.{TEMPLATE} is {COMMIT}, but its revision names {OTHER}",
        ),
        (
            locked(file=f'sha256: "{HASH}", commit: "{OTHER}"'),
            f"10:119 commit of files.{TEMPLATE} is {OTHER}, but models.example/model names {COMMIT}",
        ),
        (
            locked(model=HELD, file=f'sha256: "{CHANGED}", commit: "{COMMIT}"'),
            f"10:43 sha256 of files.{TEMPLATE} is {CHANGED}, but models.example/model names {HASH}",
        ),
    ],
    ids=["image", "model", "file", "commit", "sha256"],
)
def test_it_is_an_error_at_its_line(lock: str, place: str) -> None:
    outcome = checked(deployment(), locked=lock)
    [found] = [each for each in outcome.report.findings if each.code == "LCK035"]
    assert said((found,)) == [f"LCK035 {place}"]
    assert (found.severity, found.loc and found.loc.file) == (Severity.ERROR, "lab.lock.yaml")
    assert not outcome.only_unpinned


@pytest.mark.parametrize(
    "lock",
    [
        locked(),
        locked(model=f'revision: "{COMMIT}", {MODEL}'),
        locked(model=f"revision: release-1, {MODEL}"),
        locked(model=HELD, file=f'sha256: "{HASH}", commit: "{COMMIT}"'),
        locked(model=HELD, file=f'sha256: "{CHANGED}", commit: "{OTHER}", revision: older'),
        locked(image=TWOS).replace("version: 1\n", "version: 1\nexample: true\n"),
    ],
    ids=["all", "commit", "branch", "file", "another-revision", "example"],
)
def test_what_agrees_or_is_invented_is_not_one(lock: str) -> None:
    assert "LCK035" not in {each.code for each in checked(deployment(), locked=lock).report.findings}
