"""What a person made is refused by name, kept, and overwritten only with force."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from sparkiac.write import MANIFEST, Changes, WouldOverwrite, survey

from .trees import STATE, files, generation, identity, litter, put, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.report.artifact import Artifact


def refused(artifacts: list[Artifact], target: Path) -> WouldOverwrite:
    """Commit and survey, both in vain; return what was said."""
    before = identity(target.parent)
    with pytest.raises(WouldOverwrite) as foreseen:
        survey(artifacts, target, **STATE)
    with pytest.raises(WouldOverwrite) as caught:
        put(artifacts, target)
    assert str(foreseen.value) == str(caught.value)
    assert identity(target.parent) == before
    assert litter(target) == []
    return caught.value


def test_an_edited_file(target: Path) -> None:
    put(files(a="1", b="1"), target)
    (target / "a").write_text("mine")
    assert refused(files(a="1", b="2"), target).problems == {"a": "edited by hand"}
    assert put(files(a="1", b="2"), target, force=True).changed == (MANIFEST, "a", "b")
    assert (target / "a").read_text() == "1"


def test_an_edit_counts_even_if_nothing_else_changes(target: Path) -> None:
    put(files(a="1"), target)
    (target / "a").write_text("mine")
    refused(files(a="1"), target)


def test_an_executable_bit_changed_by_hand(target: Path) -> None:
    put(files(a="1"), target)
    (target / "a").chmod(0o755)
    assert refused(files(a="1"), target).problems == {"a": "its executable bit was changed by hand"}
    assert put(files(a="1"), target, force=True) == Changes(changed=("a",), unchanged=1)


def test_an_edit_that_is_just_what_is_wanted_is_not_an_edit(target: Path) -> None:
    """Two branches are merged: the file is right already, the manifest is not yet."""
    put(files(a="1"), target)
    (target / "a").write_text("2")
    (target / "b").write_text("new")
    assert put(files(a="2", b="new"), target) == Changes(changed=(MANIFEST,), unchanged=2)


def test_a_foreign_file_anywhere(target: Path) -> None:
    put(files(a="1", d__e__f="1"), target)
    (target / "d" / "e" / "notes").write_text("mine")
    (target / "d" / ".ansible").mkdir()
    (target / "d" / ".ansible" / "x").write_text("mine")
    said = refused(files(a="2"), target)
    assert said.problems == dict.fromkeys(["d/.ansible/x", "d/e/notes"], "not written by sparkiac")
    assert "--force" in str(said)


def test_force_keeps_a_foreign_file_that_is_not_in_the_way(target: Path) -> None:
    put(files(a="1", d__f="1"), target)
    (target / "d" / "notes").write_text("mine")
    (target / "d" / "notes").chmod(0o640)
    before = identity(target)["d/notes"]
    changes = put(files(a="2"), target, force=True)
    assert changes == Changes(changed=(MANIFEST, "a"), removed=("d/f",))
    after = identity(target)["d/notes"]
    assert (after[0], after[1], after[3]) == (before[0], before[1], before[3])
    refused(files(a="3"), target)


def test_a_foreign_file_in_the_way(target: Path) -> None:
    put(files(a="1"), target)
    (target / "b").write_text("mine")
    assert refused(files(a="1", b="1"), target).problems == {"b": "not written by sparkiac, at a generated path"}
    assert put(files(a="1", b="1"), target, force=True).changed == (MANIFEST, "b")


def test_a_foreign_file_where_a_directory_must_be_and_inside_one_that_must_be_a_file(target: Path) -> None:
    put(files(a="1"), target)
    (target / "b").write_text("mine")
    (target / "c").mkdir()
    (target / "c" / "notes").write_text("mine")
    assert refused(files(a="1", b__x="1", c="1"), target).paths == ("b", "c/notes")
    changes = put(files(a="1", b__x="1", c="1"), target, force=True)
    assert changes == Changes(created=("b/x", "c"), changed=(MANIFEST,), removed=("b", "c/notes"), unchanged=1)


def test_a_stale_file_that_was_edited(target: Path) -> None:
    put(files(a="1", stale="1"), target)
    (target / "stale").write_text("mine")
    assert refused(files(a="1"), target).problems == {"stale": "edited by hand, and no longer generated"}
    assert put(files(a="1"), target, force=True).removed == ("stale",)
    assert not (target / "stale").exists()


def test_all_problems_are_named_at_once_and_sorted(target: Path) -> None:
    put(files(a="1", z="1", stale="1"), target)
    for name in ("z", "stale", "foreign", "a"):
        (target / name).write_text("mine")
    assert refused(files(a="1", z="1"), target).paths == ("a", "foreign", "stale", "z")


def test_a_foreign_name_that_is_not_utf8_can_be_printed(target: Path) -> None:
    put(files(a="1"), target)
    (target / "\udcff").write_text("mine")
    str(refused(files(a="1"), target)).encode()


def test_a_target_that_is_not_ours(target: Path) -> None:
    target.mkdir()
    (target / "thesis.tex").write_text("mine")
    (target / "a").write_text("mine")
    assert refused(files(a="1"), target).problems == {MANIFEST: "missing"}
    assert put(files(a="1"), target, force=True) == Changes(created=(MANIFEST,), changed=("a",))
    assert (target / "thesis.tex").read_text() == "mine"


def test_the_first_file_of_a_huge_foreign_target_is_enough(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(50):
        (target / f"d{i}").mkdir(parents=True)
    (target / "thesis.tex").write_text("mine")
    monkeypatch.setattr("sparkiac.write.tree.scan", lambda _: pytest.fail("the whole target was read"))
    with pytest.raises(WouldOverwrite):
        put(files(a="1"), target)


def damage(document: dict[str, object], **changes: object) -> bytes:
    return json.dumps({**document, **changes}).encode()


GOOD: dict[str, object] = {"version": 1, "generator": "1", "inputs": {}, "files": {}}
STAMP = {"sha256": "0" * 64, "mode": "0644"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "not JSON"),
        (b"<<<<<<< HEAD\n{}", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no version"),
        (damage(GOOD, version="1"), "no version"),
        (damage(GOOD, version=True), "no version"),
        (damage(GOOD, version=0), "no version"),
        (damage(GOOD, version=2), "newer sparkiac (manifest version 2)"),
        (damage(GOOD, files=[]), "no list of files"),
        (damage(GOOD, files={"../x": STAMP}), "names '../x'"),
        (damage(GOOD, files={"/etc/x": STAMP}), "names '/etc/x'"),
        (damage(GOOD, files={MANIFEST: STAMP}), f"names '{MANIFEST}'"),
        (damage(GOOD, files={"a": None}), "no sha256 of a"),
        (damage(GOOD, files={"a": {**STAMP, "sha256": "0"}}), "no sha256 of a"),
        (damage(GOOD, files={"a": {**STAMP, "mode": 420}}), "no mode of a"),
        (damage(GOOD, files={"a": {**STAMP, "mode": "rw"}}), "no mode of a"),
    ],
)
def test_a_manifest_that_cannot_be_trusted(target: Path, text: bytes, problem: str) -> None:
    put(files(a="1", stale="1"), target)
    (target / MANIFEST).write_bytes(text)
    said = refused(files(a="2"), target)
    assert said.paths == (MANIFEST,)
    assert re.search(re.escape(problem), str(said))
    assert put(files(a="2"), target, force=True).changed == (MANIFEST, "a")
    assert (target / "stale").read_text() == "1"


def test_a_missing_manifest(target: Path) -> None:
    put(files(a="1"), target)
    (target / MANIFEST).unlink()
    assert refused(files(a="1"), target).problems == {MANIFEST: "missing"}
    assert put(files(a="1"), target, force=True) == Changes(created=(MANIFEST,), unchanged=1)


def test_a_directory_in_place_of_the_manifest(target: Path) -> None:
    put(files(a="1"), target)
    (target / MANIFEST).unlink()
    (target / MANIFEST).mkdir()
    (target / MANIFEST / "x").write_text("mine")
    assert refused(files(a="1"), target).problems == {MANIFEST: "not a plain file"}
    changes = put(files(a="1"), target, force=True)
    assert changes == Changes(created=(MANIFEST,), removed=(f"{MANIFEST}/x",), unchanged=1)


def test_force_with_nothing_to_overwrite_is_an_ordinary_run(target: Path) -> None:
    put(generation("a"), target, force=True)
    expected = snapshot(target)
    assert not put(generation("a"), target, force=True).any
    assert snapshot(target) == expected
