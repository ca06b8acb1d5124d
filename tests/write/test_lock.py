"""Two runs at once: one works, the other says so, and neither harms the other."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.write import Busy, commit, lock, preview, staging, survey, transaction, tree

from .faults import unsupported
from .trees import SCRIPT, STATE, generation, litter, put, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def during(monkeypatch: pytest.MonkeyPatch, module: object, name: str, act: Callable[[], None]) -> list[str]:
    """Act once, in the middle of a run: before its first call of a function."""
    done: list[str] = []
    former = getattr(module, name)

    def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the real one
        if not done:
            done.append(name)
            act()
        return former(*args, **options)

    monkeypatch.setattr(module, name, call)
    return done


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("module", "name"), [(transaction, "build"), (staging, "swap"), (tree, "remove"), (tree, "clear")]
)
@pytest.mark.parametrize("fallback", [True, False])
def test_a_second_run_is_busy_at_every_stage_of_the_first(  # noqa: PLR0913
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    first: bool,
    module: object,
    name: str,
    fallback: bool,
) -> None:
    """`remove` is after the exchange: the target is new already, and the former tree is being deleted."""

    def second() -> None:
        with pytest.raises(Busy) as caught:
            put(generation("b"), target)
        assert caught.value.paths == (".",)

    if fallback:
        monkeypatch.setattr(staging, "exchange", unsupported)
    if not first:
        put(generation("0"), target)
    done = during(monkeypatch, module, name, second)
    put(generation("a"), target)
    assert done or first  # the first generation replaces nothing
    assert (target / "only-a" / "f").read_text() == "a"
    assert litter(target) == []


def test_another_inventory_beside_it_is_not_busy(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = target.with_name("home")
    done = during(monkeypatch, transaction, "build", lambda: put(generation("b"), other) and None)
    put(generation("a"), target)
    assert done
    assert (target / "only-a").is_dir()
    assert (other / "only-b").is_dir()
    assert sorted(os.listdir(target.parent)) == ["home", "lab"]  # noqa: PTH208


def test_survey_works_during_a_run(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(generation("0"), target)
    seen = []
    during(monkeypatch, tree, "remove", lambda: seen.append(survey(generation("a"), target, **STATE)))
    put(generation("a"), target)
    assert not seen[0].any


def test_a_survey_that_meets_a_replacement_reads_again(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(generation("a"), target)
    done = during(monkeypatch, tree, "scan", lambda: put(generation("b"), target) and None)
    assert not survey(generation("b"), target, **STATE).any
    assert done


def test_a_survey_gives_up_when_the_target_never_rests(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(generation("a"), target)
    monkeypatch.setattr(preview, "is_open_at", lambda *_: False)
    with pytest.raises(Busy, match="keeps replacing"):
        survey(generation("b"), target, **STATE)


def test_the_staging_directory_of_a_dead_run_is_removed_even_if_nothing_changes(target: Path) -> None:
    put(generation("a"), target)
    before = snapshot(target)
    dead = target.with_name(".lab.sparkiac-new")
    (dead / "hosts" / "x").mkdir(parents=True)
    (dead / "hosts" / "x" / "f").write_text("half")
    (dead / "hosts").chmod(0o500)
    (dead / "link").symlink_to("/etc")
    assert not put(generation("a"), target).any
    assert litter(target) == []
    assert snapshot(target) == before


def test_only_its_own_leftovers_are_removed(target: Path) -> None:
    others = [".home.sparkiac-new", ".lab.sparkiac-new.bak", ".lab.sparkiac-newer", "lab.sparkiac-new"]
    for name in others:
        target.with_name(name).mkdir()
    put(generation("a"), target)
    put(generation("b"), target)
    assert litter(target) == sorted(others)


def test_a_lock_of_another_program_on_the_target_is_respected(target: Path) -> None:
    put(generation("a"), target)
    descriptor = os.open(target, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(Busy):
            put(generation("b"), target)
    finally:
        os.close(descriptor)
    assert litter(target) == []
    put(generation("b"), target)


def test_a_staging_directory_that_another_run_just_ended_with_is_not_taken_for_the_lock(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run ends between this run's opening of the directory and its locking it."""

    def other_run_ends() -> None:
        target.with_name(".lab.sparkiac-new").rmdir()

    done = during(monkeypatch, fcntl, "flock", other_run_ends)
    put(generation("a"), target)
    assert done
    assert litter(target) == []


def test_a_run_that_ends_leaves_the_staging_directory_of_the_next_alone(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first generation the staging name is free, and another run may have it at once."""
    staged = target.with_name(".lab.sparkiac-new") / "f"

    def next_run_begins() -> None:
        staged.parent.mkdir()
        staged.touch()

    during(monkeypatch, lock, "_clean_up", next_run_begins)
    put(generation("a"), target)
    assert staged.exists()


def test_the_lock_is_not_inherited_by_a_program_that_the_run_starts(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[subprocess.Popen[bytes]] = []
    during(
        monkeypatch,
        transaction,
        "build",
        lambda: children.append(subprocess.Popen(["sleep", "60"], close_fds=False)),
    )
    put(generation("a"), target)
    try:
        put(generation("b"), target)
    finally:
        children[0].kill()
        children[0].wait()


HAMMER = """
import os
import sys
from pathlib import Path
from sparkiac.write import Busy, staging, survey
from trees import STATE, generation, put
from faults import unsupported
tag, fallback = sys.argv[1], sys.argv[2]
if fallback == "fallback":
    staging.exchange = unsupported
WHOLE = {(0, 0, 0), (1, 20, 1), (41, 0, 0)}  # up to date, another tag's tree, no tree yet
while not Path("../stop").exists():
    try:
        if tag == "survey":
            changes = survey(generation("a"), Path("lab"), **STATE)
            assert (len(changes.created), len(changes.changed), len(changes.removed)) in WHOLE, changes
        else:
            put(generation(tag), Path("lab"))
        os.write(1, f"{tag} done\\n".encode())
    except Busy:
        os.write(1, f"{tag} busy\\n".encode())
"""
ENOUGH = Counter({"written": 40, "busy": 20, "surveyed": 20})
"""What is seen before the runs are stopped, however long that takes."""


def hammered(reports: Iterable[str], stop: Path) -> Counter[str]:
    """Count what the runs report, and stop them once it is enough."""
    seen: Counter[str] = Counter()
    for report in reports:
        tag, what = report.split()
        seen["busy" if what == "busy" else "surveyed" if tag == "survey" else "written"] += 1
        if seen >= ENOUGH:
            stop.touch()
    return seen


@pytest.mark.parametrize("way", ["exchange", "fallback"])
def test_four_writers_and_a_reader_never_see_or_leave_a_mixed_tree(tmp_path: Path, way: str) -> None:
    target = tmp_path / "work/lab"
    target.parent.mkdir()
    reader, writer = os.pipe()
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, tag, way],
            cwd=target.parent,
            stdout=writer,
            stderr=subprocess.PIPE,
            **SCRIPT,
        )
        for tag in ("a", "b", "c", "d", "survey")
    ]
    os.close(writer)
    with open(reader, encoding="ascii") as reports:  # noqa: PTH123  a descriptor
        seen = hammered(reports, tmp_path / "stop")
    errors = [run.communicate()[1] for run in runs]
    assert [(run.returncode, error) for run, error in zip(runs, errors, strict=True)] == [(0, "")] * 5
    assert seen >= ENOUGH
    tag = (target / "PLAN.md").read_text()
    assert not commit(generation(tag), target, **STATE).any
    assert litter(target) == []
