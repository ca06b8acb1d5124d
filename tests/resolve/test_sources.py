"""Sources of recipes: each field of the inventory must be what the lock pins, and each file has its hash there."""

from __future__ import annotations

from typing import Final

import pytest
from pydantic import ValidationError

from sparkiac import pipeline
from sparkiac.catalog.library import RecipeText
from sparkiac.lock.merge import locked_source, with_sources
from sparkiac.model.lock import LockedSource, RecipeSource
from sparkiac.resolve import sources
from tests.plan.fleets import COMMIT, LOCK, deployment
from tests.resolve.built import as_yaml

SOURCE: Final = {"git": "https://example.org/recipes.git", "revision": "main", "path": "recipes", "format": "sparkiac"}
OTHER: Final = {
    "oci": "example.org/recipes:v1",
    "git": "https://example.org/other.git",
    "revision": "v2",
    "path": "other",
    "format": "eugr",
    "signed_by": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZpcnN0a2V5",
}
RAW: Final = b"title: Our model\nengine: vllm\nsources: [ours]\nmodel: example/model\n"
FILE: Final = RecipeText("sources/team/ours/chat.yaml", ("ours", "chat"), RAW)
PINNED: Final = locked_source(RecipeSource(**SOURCE), COMMIT, {"ours/chat.yaml": RAW})


def found(source: dict[str, str], *files: RecipeText) -> list[tuple[str, str]]:
    """Check an inventory with this source; the lock pins SOURCE."""
    lock = pipeline.read_lock(pipeline.InputFile("lab.lock.yaml", LOCK.encode()))
    text = pipeline.lock_text(None, with_sources(lock.document, {"team": PINNED}))
    inventory = (deployment() + as_yaml({"sources": {"team": source}})).encode()
    file = pipeline.InputFile("lab.yaml", inventory, fetched={"team": files})
    report = pipeline.check(file, pipeline.InputFile("lab.lock.yaml", text)).report
    return [(each.code, each.message) for each in report.findings if each.code.startswith("RCP")]


def test_what_the_lock_pins_is_accepted() -> None:
    assert found(SOURCE, FILE) == []


@pytest.mark.parametrize("key", list(RecipeSource.model_fields))
def test_each_field_must_be_that_of_the_lock(key: str) -> None:
    value = [OTHER[key]] if key == "signed_by" else OTHER[key]
    source = {"oci": value} if key == "oci" else {**SOURCE, key: value}
    [(code, message)] = found(source, FILE)
    assert code == "RCP004"
    assert "source team is fetched from another place" in message
    assert OTHER[key] in message


@pytest.mark.parametrize(
    ("source", "pin"),
    [
        (RecipeSource(git=SOURCE["git"], revision="1" * 40), "3" * 40),
        (RecipeSource(oci=f"example.org/recipes@sha256:{'1' * 64}"), f"sha256:{'3' * 64}"),
    ],
)
def test_a_commit_or_digest_of_the_inventory_must_be_the_pin(source: RecipeSource, pin: str) -> None:
    assert not sources.is_of(locked_source(source, pin, {}), source)
    assert sources.is_of(locked_source(source, pin.replace("3", "1"), {}), source)


@pytest.mark.parametrize(
    "entry",
    [
        {"git": SOURCE["git"]},
        {"oci": OTHER["oci"], "commit": COMMIT},
        {"git": SOURCE["git"], "commit": COMMIT, "digest": f"sha256:{'1' * 64}"},
    ],
)
def test_an_entry_of_the_lock_has_the_pin_of_its_kind(entry: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="a source with git is pinned by commit, a source with oci by digest"):
        LockedSource.model_validate(entry)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((), "source team: ours/chat.yaml is in the lock, but the file does not exist"),
        (
            (FILE._replace(raw=RAW + b"\n"),),
            "source team: sources/team/ours/chat.yaml differs from its hash in the lock",
        ),
        (
            (FILE, RecipeText("sources/team/ours/more.yaml", ("ours", "more"), RAW)),
            "source team: sources/team/ours/more.yaml is not in the lock",
        ),
    ],
)
def test_each_file_must_have_its_hash(files: tuple[RecipeText, ...], message: str) -> None:
    assert found(SOURCE, *files) == [("RCP005", message)]


def test_sources_of_the_lock_are_kept_by_other_updates() -> None:
    lock = pipeline.read_lock(pipeline.InputFile("lab.lock.yaml", LOCK.encode()))
    data = with_sources(lock.document, {"team": PINNED})
    text = pipeline.lock_text(None, data)
    file = pipeline.InputFile(
        "lab.yaml", (deployment() + as_yaml({"sources": {"team": SOURCE}})).encode(), fetched={"team": (FILE,)}
    )
    state = pipeline.lock_state(file, pipeline.InputFile("lab.lock.yaml", text))
    assert state.plan is not None
    new = pipeline.locked(file, pipeline.InputFile("lab.lock.yaml", text), state, {})
    assert pipeline.read_lock(pipeline.InputFile("", new.raw)).value is not None
    again = pipeline.read_lock(pipeline.InputFile("", new.raw)).value
    assert again is not None
    assert again.sources == {"team": PINNED}
    assert [*sources.differences(again.sources["team"], (FILE,))] == []
