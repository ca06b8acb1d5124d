"""Targets and paths that no flag makes writable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkiac.report.artifact import Artifact
from sparkiac.write import MANIFEST, UnsafeTarget, WouldOverwrite, diff, survey

from .trees import SCRIPT, STATE, files, identity, litter, put


def unsafe(artifacts: list[Artifact], target: Path) -> UnsafeTarget:
    """Try all ways in, with force; nothing changes."""
    before = identity(target.parent)
    with pytest.raises(UnsafeTarget):
        survey(artifacts, target, **STATE, force=True)
    with pytest.raises(UnsafeTarget):
        diff(artifacts, target)
    with pytest.raises(UnsafeTarget) as caught:
        put(artifacts, target, force=True)
    assert identity(target.parent) == before
    return caught.value


@pytest.mark.parametrize("to", ["real", "nowhere"])
def test_a_target_that_is_a_symlink(target: Path, to: str) -> None:
    put(files(a="1"), target.with_name("real"))
    target.symlink_to(to)
    assert unsafe(files(a="2"), target).problems == {".": "the target is a symlink"}


def test_a_target_that_is_a_file(target: Path) -> None:
    target.write_text("mine")
    assert unsafe(files(a="1"), target).problems == {".": "the target is not a directory"}


def test_the_root_directory() -> None:
    for path in (Path("/"), Path("/usr/..")):
        with pytest.raises(UnsafeTarget):
            survey(files(a="1"), path, **STATE)


def test_a_parent_that_is_a_file_is_an_error_of_the_system(target: Path) -> None:
    target.write_text("mine")
    with pytest.raises(NotADirectoryError):
        put(files(a="1"), target / "lab")


def test_a_file_that_is_a_symlink(target: Path, tmp_path: Path) -> None:
    put(files(a="1"), target)
    (tmp_path / "a").write_text("1")
    (target / "a").unlink()
    (target / "a").symlink_to(tmp_path / "a")
    assert unsafe(files(a="1"), target).problems == {"a": "a symlink"}


def test_a_directory_that_is_a_symlink(target: Path) -> None:
    put(files(hosts__a__f="1"), target)
    (target / "hosts" / "b").symlink_to("/etc")
    assert unsafe(files(hosts__a__f="1", hosts__b__hostname="x"), target).paths == ("hosts/b",)


def test_a_manifest_that_is_a_symlink(target: Path, tmp_path: Path) -> None:
    put(files(a="1"), target)
    (target / MANIFEST).rename(tmp_path / "manifest")
    (target / MANIFEST).symlink_to(tmp_path / "manifest")
    assert unsafe(files(a="1"), target).paths == (MANIFEST,)
    with pytest.raises(UnsafeTarget):
        put(files(a="1"), target)


def test_ansible_itself_as_a_symlink(target: Path) -> None:
    put(files(a="1"), target)
    (target / ".ansible").symlink_to("/tmp")  # noqa: S108 - only a name
    assert unsafe(files(a="2"), target).paths == (".ansible",)


def test_a_device_or_a_pipe(target: Path) -> None:
    put(files(a="1"), target)
    os.mkfifo(target / "pipe")
    assert unsafe(files(a="1"), target).problems == {"pipe": "not a plain file"}


IMPOSSIBLE = """/etc/x ../x a/../x ./a a//b a/ . .. a\\b .git/hooks/x a/.git .ansible .ansible/x"""


@pytest.mark.parametrize(
    "path", [*IMPOSSIBLE.split(), MANIFEST, f"{MANIFEST}/x", "", "a\0b", "a\nb", "a\u2028b", "\udcff"]
)
def test_an_impossible_path(target: Path, path: str) -> None:
    said = unsafe([Artifact("fine", b""), Artifact(path, b"")], target)
    assert len(said.paths) == 1
    assert not target.exists()


def test_names_that_only_look_special_are_fine(target: Path) -> None:
    names = ["...", "..a", ".ansible-lint", ".github/x", "a b", "-rf", "ü/ß", "~", "$HOME", "x.sparkiac-new"]
    put([Artifact(name, b"x") for name in names], target)
    assert not put([Artifact(name, b"x") for name in names], target).any


def test_a_file_that_is_a_directory_too_and_a_path_named_twice(target: Path) -> None:
    said = unsafe(files(a="1", a__b__c="1", x="1") + files(x="2"), target)
    assert said.problems == {"a/b/c": "a is a file as well", "x": "generated twice"}


@pytest.mark.parametrize("suffix", ["new", "old"])
@pytest.mark.parametrize("kind", ["file", "symlink"])
def test_a_staging_name_that_is_taken_is_left_alone(target: Path, suffix: str, kind: str) -> None:
    put(files(a="1"), target)
    taken = target.with_name(f".lab.sparkiac-{suffix}")
    taken.symlink_to("/etc") if kind == "symlink" else taken.write_text("mine")
    before = identity(target)
    with pytest.raises(UnsafeTarget, match="not a directory"):
        put(files(a="2"), target)
    assert identity(target) == before
    assert litter(target) == [taken.name]


def test_another_file_system_inside(target: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    put(files(a="1"), target)
    (target / "mnt").mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "none", target / "mnt"], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"cannot mount: {mount.stderr.decode()}")
    try:
        said = unsafe(files(a="2"), target)
    finally:
        subprocess.run(["umount", target / "mnt"], check=True)
    assert said.problems == {"mnt": "another file system is mounted here"}


OTHER_USER = """
import os, sys
from pathlib import Path
from trees import files, put
os.setgid(65534)
os.setuid(65534)
try:
    put(files(a="2"), Path("lab"))
except PermissionError as error:
    print(error)
"""


def test_a_directory_of_another_user_is_found_before_anything_is_written(target: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("changing the user needs root")
    put(files(a="1"), target)
    (target / ".ansible" / "roots").mkdir(parents=True)
    for path in (target.parent, target, target / ".ansible", *target.glob("*")):
        os.chown(path, 65534, 65534)
    command = [sys.executable, "-c", OTHER_USER]
    done = subprocess.run(command, cwd=target.parent, capture_output=True, check=True, **SCRIPT)
    assert "belongs to another user" in done.stdout
    assert litter(target) == []
    assert (target / "a").read_text() == "1"


def test_refused_comes_before_unsafe_for_a_target_that_is_not_ours(target: Path) -> None:
    target.mkdir()
    (target / "thesis.tex").write_text("mine")
    (target / "link").symlink_to("/etc")
    with pytest.raises(WouldOverwrite):
        put(files(a="1"), target)
