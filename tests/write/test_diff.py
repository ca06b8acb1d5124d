"""The patch that `--diff` shows is one that Git applies."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from sparkiac.report.artifact import Artifact
from sparkiac.write import MANIFEST, diff

from .trees import files, generation, put, snapshot

if TYPE_CHECKING:
    from pathlib import Path


def test_a_changed_a_new_and_a_stale_file(target: Path) -> None:
    put(files(a="one\ntwo\nthree\n", stale="old\n"), target)
    assert diff([*files(a="one\n2\nthree\n"), Artifact("bin/new", b"x\n", 0o755)], target) == (
        "diff --git a/a b/a\n"
        "--- a/a\n"
        "+++ b/a\n"
        "@@ -1,3 +1,3 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        " three\n"
        "diff --git a/bin/new b/bin/new\n"
        "new file mode 100755\n"
        "--- /dev/null\n"
        "+++ b/bin/new\n"
        "@@ -0,0 +1 @@\n"
        "+x\n"
        "diff --git a/stale b/stale\n"
        "deleted file mode 100644\n"
        "--- a/stale\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-old\n"
    )


def test_nothing_to_change_is_an_empty_diff(target: Path) -> None:
    put(generation("a"), target)
    assert diff(generation("a"), target) == ""


def test_an_absent_target_is_all_new(target: Path) -> None:
    assert diff(generation("a"), target).count("new file mode") == 40


def test_binary_contents_are_named_and_not_shown(target: Path) -> None:
    put([Artifact("nul", b"a\0b"), Artifact("latin", b"\xff"), Artifact("mode", b"\0")], target)
    wanted = [Artifact("nul", b"a"), Artifact("latin", b"x"), Artifact("mode", b"\0", 0o755), Artifact("new", b"\0")]
    assert diff(wanted, target) == (
        "diff --git a/latin b/latin\n"
        "Binary files a/latin and b/latin differ\n"
        "diff --git a/mode b/mode\n"
        "old mode 100644\n"
        "new mode 100755\n"
        "diff --git a/new b/new\n"
        "new file mode 100644\n"
        "Binary files /dev/null and b/new differ\n"
        "diff --git a/nul b/nul\n"
        "Binary files a/nul and b/nul differ\n"
    )


def test_foreign_files_and_the_manifest_are_not_shown(target: Path) -> None:
    put(files(a="1"), target)
    (target / "notes").write_text("mine")
    (target / MANIFEST).unlink()
    assert diff(files(a="1"), target) == ""


def test_an_edit_by_hand_is_shown_as_what_would_be_lost(target: Path) -> None:
    put(files(a="1\n"), target)
    (target / "a").write_text("mine\n")
    assert "-mine\n+1\n" in diff(files(a="1\n"), target)


def test_git_applies_it(target: Path) -> None:
    old = [
        *generation("a"),
        *files(no_end="a\nb", end="a\nb\n", odd="a\rb\x0bc\u2028d\n", empty_to_text="", text_to_empty="x\n"),
        Artifact("mode", b"x\n"),
        Artifact("file", b"x\n"),
        Artifact("dir/file", b"x\n"),
    ]
    new = [
        *generation("b"),
        *files(no_end="a\nb\n", end="a\nc", odd="a\rb\x0bc\u2028e\n", empty_to_text="x", text_to_empty="", empty=""),
        Artifact("mode", b"y\n", 0o755),
        Artifact("file/inside", b"x\n"),
        Artifact("dir", b"x\n"),
    ]
    put(old, target)
    patch = diff(new, target)
    applied, expected = target.with_name("applied"), target.with_name("expected")
    put(old, applied)
    put(new, expected)
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=applied, check=True, umask=0o022)
    trees = [snapshot(tree) or {} for tree in (applied, expected)]
    for tree in trees:
        del tree[MANIFEST]
    assert trees[0] == trees[1]
