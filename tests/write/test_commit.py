"""What a commit leaves on the disk when nothing is in its way."""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac.report.artifact import Artifact
from sparkiac.write import MANIFEST, Changes, WouldOverwrite, commit, lock, survey, transaction, tree

from .trees import STATE, files, generation, identity, litter, put, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.write.staging import TargetPaths


def test_a_first_generation_is_exactly_the_artifacts_and_their_manifest(target: Path) -> None:
    artifacts = [Artifact("PLAN.md", b"plan\n"), Artifact("bin/run", b"#!/bin/sh\n", 0o755)]
    changes = put(artifacts, target)
    assert changes == Changes(created=(MANIFEST, "PLAN.md", "bin/run"))
    assert snapshot(target) == {
        MANIFEST: ("100644", (target / MANIFEST).read_bytes()),
        "PLAN.md": ("100644", b"plan\n"),
        "bin": ("40755", b""),
        "bin/run": ("100755", b"#!/bin/sh\n"),
    }
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    assert litter(target) == []


def test_the_manifest_is_sorted_json_with_one_line_feed_at_the_end(target: Path) -> None:
    artifacts = [Artifact("b", b"2", 0o755), Artifact("ä", b"1")]
    commit(artifacts, target, inputs={"z.yaml": "1" * 64, "a.yaml": "2" * 64}, generator="0.1.0")
    assert (target / MANIFEST).read_text() == (
        "{\n"
        ' "files": {\n'
        '  "b": {\n'
        '   "mode": "0755",\n'
        '   "sha256": "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35"\n'
        "  },\n"
        '  "ä": {\n'
        '   "mode": "0644",\n'
        '   "sha256": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"\n'
        "  }\n"
        " },\n"
        ' "generator": "0.1.0",\n'
        ' "inputs": {\n'
        f'  "a.yaml": "{"2" * 64}",\n'
        f'  "z.yaml": "{"1" * 64}"\n'
        " },\n"
        ' "version": 1\n'
        "}\n"
    )


def test_the_order_of_the_artifacts_does_not_matter(target: Path) -> None:
    put(generation("a"), target)
    assert not put(generation("a")[::-1], target).any


def test_created_changed_removed_and_unchanged_are_distinguished(target: Path) -> None:
    put(files(keep="1", edit="1", drop="1", dir__drop="1"), target)
    changes = put(files(keep="1", edit="2", new="1", other__new="1"), target)
    assert changes == Changes(
        created=("new", "other/new"), changed=(MANIFEST, "edit"), removed=("dir/drop", "drop"), unchanged=1
    )
    assert sorted(snapshot(target) or {}) == [MANIFEST, "edit", "keep", "new", "other", "other/new"]
    assert litter(target) == []


def test_survey_says_what_commit_does_and_touches_nothing(target: Path) -> None:
    assert survey(generation("a"), target, **STATE) == put(generation("a"), target)
    before = identity(target.parent)
    foreseen = survey(generation("b"), target, **STATE)
    assert identity(target.parent) == before
    assert foreseen.any
    assert put(generation("b"), target) == foreseen


def test_nothing_to_change_touches_nothing(target: Path) -> None:
    put(generation("a"), target)
    before = identity(target.parent)
    changes = put(generation("a"), target)
    assert changes == Changes(unchanged=41)
    assert not changes.any
    assert identity(target.parent) == before


def test_survey_of_an_absent_target_creates_nothing(tmp_path: Path) -> None:
    assert survey(generation("a"), tmp_path / "x" / "y", **STATE).any
    assert list(tmp_path.iterdir()) == []


def test_unchanged_files_keep_inode_and_time(target: Path) -> None:
    put(generation("a"), target)
    before = identity(target)
    put(generation("b"), target)
    after = identity(target)
    kept = [path for path in before if path.startswith("hosts") and "/etc/f" in path]
    assert len(kept) == 20
    assert all(after[path][:2] == before[path][:2] for path in kept)
    assert after["PLAN.md"][0] != before["PLAN.md"][0]


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_modes_do_not_depend_on_the_umask(target: Path, umask: int) -> None:
    former = os.umask(umask)
    try:
        put(generation("a"), target)
        put(generation("b"), target)
    finally:
        os.umask(former)
    modes = {path: mode for path, (mode, _) in (snapshot(target) or {}).items()}
    wanted = {artifact.path: f"10{artifact.mode:04o}" for artifact in generation("b")}
    assert {path: mode for path, mode in modes.items() if path in wanted} == wanted
    assert {mode for path, mode in modes.items() if path not in wanted} == {"40755", "100644"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_a_new_mode_is_a_change(target: Path) -> None:
    put([Artifact("run", b"x", 0o644)], target)
    assert put([Artifact("run", b"x", 0o755)], target).changed == (MANIFEST, "run")
    assert stat.S_IMODE((target / "run").stat().st_mode) == 0o755


@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_a_clone_under_another_umask_is_up_to_date(target: Path, umask: int) -> None:
    """Git keeps only the executable bit, and Ubuntu's umask is 0002."""
    put(generation("a"), target)
    for path in target.rglob("*"):
        path.chmod((0o777 if path.is_dir() or path.stat().st_mode & 0o100 else 0o666) & ~umask)
    before = identity(target.parent)
    assert not put(generation("a"), target).any
    assert identity(target.parent) == before


def test_new_inputs_or_a_new_generator_change_the_manifest_only(target: Path) -> None:
    put(files(a="1"), target)
    assert commit(files(a="1"), target, inputs=STATE["inputs"], generator="2") == Changes(
        changed=(MANIFEST,), unchanged=1
    )
    assert commit(files(a="1"), target, inputs={}, generator="2").changed == (MANIFEST,)
    assert json.loads((target / MANIFEST).read_text())["inputs"] == {}


def test_a_missing_file_is_made_again(target: Path) -> None:
    put(generation("a"), target)
    before = snapshot(target)
    (target / "PLAN.md").unlink()
    assert put(generation("a"), target) == Changes(created=("PLAN.md",), unchanged=40)
    assert snapshot(target) == before


def test_a_file_becomes_a_directory_and_a_directory_a_file(target: Path) -> None:
    put(files(a="1", b__c__d="1"), target)
    changes = put(files(a__x="1", b="1"), target)
    assert (changes.created, changes.removed) == (("a/x", "b"), ("a", "b/c/d"))
    put(files(a="1", b__c__d="1"), target)
    assert sorted(snapshot(target) or {}) == [MANIFEST, "a", "b", "b/c", "b/c/d"]


def test_directories_above_the_target_are_made(tmp_path: Path) -> None:
    put(files(a="1"), tmp_path / "x" / "y" / "lab")
    assert litter(tmp_path / "x" / "y" / "lab") == []


def test_directories_above_the_target_go_when_the_run_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transaction, "build", full)
    with pytest.raises(OSError, match="No space"):
        put(files(a="1"), tmp_path / "x" / "y" / "lab")
    assert list(tmp_path.iterdir()) == []


def test_a_relative_target_and_the_working_directory_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(files(a="1"), Path("lab"))
    monkeypatch.chdir(tmp_path / "lab")
    put(files(a="2"), Path())
    assert (tmp_path / "lab" / "a").read_text() == "2"
    assert litter(tmp_path / "lab") == []


def test_an_empty_directory_as_target_is_filled(target: Path) -> None:
    target.mkdir(mode=0o700)
    put(files(a="1"), target)
    assert sorted(snapshot(target) or {}) == [MANIFEST, "a"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_empty_directories_of_a_person_stay(target: Path) -> None:
    (target / "mine" / "deep").mkdir(parents=True)
    put(files(a="1", hosts__x__f="1"), target)
    (target / "hosts" / "x" / "notes").mkdir(mode=0o750)
    put(files(a="2", hosts__x__f="1"), target)
    assert {"mine/deep", "hosts/x/notes"} <= (snapshot(target) or {}).keys()
    assert stat.S_IMODE((target / "hosts" / "x" / "notes").stat().st_mode) == 0o750
    put(files(a="3"), target)  # hosts/ is not empty: its directory `notes` is another's
    assert (target / "hosts" / "x" / "notes").is_dir()


def test_an_empty_directory_makes_room_for_a_file(target: Path) -> None:
    (target / "a" / "b").mkdir(parents=True)
    assert put(files(a="1"), target).created == (MANIFEST, "a")
    assert (target / "a").read_text() == "1"


def test_no_artifacts_leave_an_empty_tree(target: Path) -> None:
    put(generation("a"), target)
    put([], target)
    assert sorted(snapshot(target) or {}) == [MANIFEST]


def test_the_directory_of_the_ansible_tools_is_carried_over(target: Path) -> None:
    put(generation("a"), target)
    mine = target / ".ansible" / "collections"
    mine.mkdir(parents=True)
    (mine / "f").write_text("x")
    (mine / "f").chmod(0o600)
    (mine / "link").symlink_to("/nowhere")
    os.mkfifo(mine / "fifo")
    (mine / "empty").mkdir()
    mine.chmod(0o500)
    before = identity(target / ".ansible")
    assert put(generation("a"), target) == Changes(unchanged=41)
    put(generation("b"), target)
    after = identity(target / ".ansible")
    assert after.keys() == before.keys()
    for path, (inode, mtime, _, mode, size) in before.items():
        assert after[path][1:] == (mtime, after[path][2], mode, size)
        assert stat.S_ISDIR(mode) or after[path][0] == inode
    assert litter(target) == []


def test_ansible_alone_does_not_make_a_target_foreign(target: Path) -> None:
    (target / ".ansible").mkdir(parents=True)
    (target / ".ansible" / "f").write_text("x")
    put(files(a="1"), target)
    assert (target / ".ansible" / "f").read_text() == "x"


def test_without_hard_links_unchanged_files_are_copied_with_their_time(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    put(generation("a"), target)
    (target / ".ansible").mkdir()
    (target / ".ansible" / "link").symlink_to("f")
    (target / ".ansible" / "f").write_bytes(b"x" * 3_000_000)
    before = identity(target)
    monkeypatch.setattr(os, "link", no_links)
    put(generation("b"), target)
    after = identity(target)
    for path in ("hosts/h0/etc/f0", ".ansible/f"):
        assert after[path][0] != before[path][0]
        assert after[path][1] == before[path][1]
    assert (target / ".ansible" / "link").readlink() == Path("f")
    os.mkfifo(target / ".ansible" / "fifo")
    with pytest.raises(PermissionError):
        put(generation("a"), target)
    assert litter(target) == []


def test_a_file_saved_during_the_run_is_not_lost(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(generation("a"), target)
    build = transaction.build

    def slow_build(*args: object, **options: object) -> None:
        build(*args, **options)  # type: ignore[arg-type]
        (target / "PLAN.md").write_text("saved just now")

    monkeypatch.setattr(transaction, "build", slow_build)
    with pytest.raises(WouldOverwrite, match="run again") as caught:
        put(generation("b"), target)
    assert caught.value.paths == ("PLAN.md",)
    assert (target / "PLAN.md").read_text() == "saved just now"
    assert litter(target) == []


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths whose content is read from now on."""
    read: list[str] = []
    content = tree.content

    def counting(root: Path, path: str) -> bytes:
        read.append(path)
        return content(root, path)

    monkeypatch.setattr(tree, "content", counting)
    return read


def test_each_file_is_read_once(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(generation("a"), target)
    present = {path for path, entry in tree.scan(target).items() if not entry.is_dir and not tree.carried(path)}
    read = counted(monkeypatch)
    assert put(generation("b"), target).any
    assert sorted(read) == sorted(present)


def test_a_file_saved_before_the_lock_is_compared_again(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(generation("a"), target)
    hold = lock.hold

    @contextmanager
    def late(paths: TargetPaths) -> Iterator[None]:
        (target / "PLAN.md").write_text("saved just now")
        with hold(paths):
            yield

    monkeypatch.setattr(lock, "hold", late)
    with pytest.raises(WouldOverwrite, match="by hand"):
        put(generation("b"), target)
    assert (target / "PLAN.md").read_text() == "saved just now"
    assert litter(target) == []
