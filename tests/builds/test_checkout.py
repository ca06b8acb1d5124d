"""The build script on a real Git repository: what it checks out, and every way in which it must refuse to."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.builds.toys import fleet

if TYPE_CHECKING:
    from tests.builds.toys import Bench, Toy

SUBJECT = "steady the decoding"


def source(toy: Toy, *lines: str) -> str:
    """Write a fleet that builds the toy's first commit with these lines."""
    return fleet(f"repository: {toy.address}", f"commit: '{toy.base}'", "fetch: main", *lines)


def picks(*commits: str, subject: str = "") -> str:
    said = f", subject: {subject}" if subject else ""
    return "cherry_picks: [" + ", ".join(f"{{commit: '{each}'{said}}}" for each in commits) + "]"


def rebased(toy: Toy) -> tuple[str, str]:
    """Rebase a commit of main away; give its former name and its present one."""
    former = toy.commit("decode.py", "steady = True\n", subject=SUBJECT)
    toy.git("reset", "--quiet", "--hard", toy.base)
    toy.commit("other.py", "other = 1\n", subject="something else")
    present = toy.commit("decode.py", "steady = True\n", subject=SUBJECT)
    toy.forget()
    return former, present


def test_the_commit_and_its_picks_are_what_is_built(toy: Toy, bench: Bench) -> None:
    """Nothing else of the branch gets in."""
    toy.branch("work", toy.base)
    first = toy.commit("decode.py", "steady = True\n", subject="steady the decoding")
    second = toy.commit("sched.py", "fair = True\n", subject="schedule fairly")
    toy.branch("main", toy.base)
    later = toy.commit("engine.py", "one = 2\n", subject="what must not get in")
    record = bench.made(source(toy, picks(first, second)))
    copied = bench.image(record["id"])["files"]
    assert copied == {"decode.py": "steady = True\n", "engine.py": "one = 1\n", "sched.py": "fair = True\n"}
    assert record["picked"] == [{"asked": each, "picked": each} for each in (first, second)]
    assert (record["name"], record["entrypoint"], record["command"]) == ("engine", ["/entry.sh"], None)
    assert re.fullmatch("[0-9a-f]{40}", record["commit"])
    assert record["commit"] not in {toy.base, first, second, later}
    assert record["tree"] == toy.git("rev-parse", f"{second}^{{tree}}")


def test_a_pick_says_where_it_comes_from_and_keeps_its_author(toy: Toy, bench: Bench) -> None:
    """That is what `git cherry-pick -x` is for."""
    pick = toy.commit("decode.py", "steady = True\n", subject=SUBJECT)
    toy.commit("later.py", "", subject="later")
    bench.made(source(toy, picks(pick)))
    argv = ["git", "-C", str(bench.folder / "cache/engine/source"), "log", "-1", "--format=%an %cn%n%B"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"Toy sparkiac\n{SUBJECT}\n")
    assert f"(cherry picked from commit {pick})" in said


def test_the_same_commit_comes_out_anywhere(toy: Toy, bench: Bench) -> None:
    """Whatever the user's configuration, clock and cache are."""
    pick = toy.commit("decode.py", "steady = True\n", subject=SUBJECT)
    first = bench.made(source(toy, picks(pick)))
    config = bench.folder / "home/.gitconfig"
    config.write_text(
        "[user]\nname = Somebody\n[commit]\ngpgsign = true\n[core]\nautocrlf = true\nhooksPath = /nowhere\n"
        f'[url "file:///nowhere"]\ninsteadOf = {toy.address}\n[protocol]\nallow = never\n'
    )
    bench.env = {"GIT_DIR": "/nowhere", "GIT_AUTHOR_NAME": "Somebody", "TZ": "Asia/Tokyo", "XDG_CONFIG_HOME": "/x"}
    again = bench.run(str(bench.record), "--cache", str(bench.folder / "another"))
    assert again.code == 0, again.err
    assert json.loads(bench.record.read_text()) == first


def test_a_commit_that_is_gone_ends_the_build(toy: Toy, bench: Bench) -> None:
    former, _ = rebased(toy)
    text = source(toy).replace(toy.base, former)
    assert bench.refused(text).startswith(f"cannot fetch the commit {former} from {toy.address}: ")
    assert bench.asked() == []


def test_a_pick_that_is_gone_is_found_by_its_subject_and_not_taken(toy: Toy, bench: Bench) -> None:
    """The script says what it found, for a person to read."""
    former, present = rebased(toy)
    sentence = bench.refused(source(toy, picks(former, subject=SUBJECT)))
    assert sentence.startswith(f"cannot fetch the commit {former} from {toy.address} (")
    assert f"; {present} of main has the subject '{SUBJECT}': review it and set it as the commit" in sentence
    assert bench.asked() == []


def test_with_leave_the_commit_of_that_subject_is_taken_and_recorded(toy: Toy, bench: Bench) -> None:
    """The record names the commit that was taken."""
    former, present = rebased(toy)
    record = bench.made(source(toy, picks(former, subject=SUBJECT), "allow_subject_match: true"))
    assert record["picked"] == [{"asked": former, "picked": present}]
    assert "decode.py" in bench.image(record["id"])["files"]
    assert "other.py" not in bench.image(record["id"])["files"]


def test_two_commits_of_one_subject_are_too_many(toy: Toy, bench: Bench) -> None:
    """No leave helps there."""
    former, present = rebased(toy)
    another = toy.commit("decode.py", "steady = False\n", subject=SUBJECT)
    sentence = bench.refused(source(toy, picks(former, subject=SUBJECT), "allow_subject_match: true"))
    assert sentence.endswith(f"; 2 commits of main have the subject '{SUBJECT}': {another}, {present}")


def test_no_commit_of_that_subject(toy: Toy, bench: Bench) -> None:
    """A part of a subject is none."""
    former, _ = rebased(toy)
    sentence = bench.refused(source(toy, picks(former, subject="steady the"), "allow_subject_match: true"))
    assert sentence.endswith("; 0 commits of main have the subject 'steady the': none")


def test_without_a_subject_nothing_is_looked_for(toy: Toy, bench: Bench) -> None:
    """The sentence says what would be needed."""
    former, _ = rebased(toy)
    sentence = bench.refused(source(toy, picks(former), "allow_subject_match: true"))
    assert sentence.endswith("; set its `subject`, and the branch in `fetch`, to search for it")


def test_a_conflict_ends_the_build_and_leaves_no_half_state(toy: Toy, bench: Bench) -> None:
    """The second run starts as clean as the first."""
    toy.commit("engine.py", "one = 2\n", subject="two")
    clash = toy.commit("engine.py", "one = 3\n", subject="three")
    text = source(toy, picks(clash))
    for _ in range(2):
        assert bench.refused(text) == f"the commit {clash} conflicts in engine.py; nothing was built"
    assert bench.asked() == []
    record = bench.made(source(toy))
    assert record["commit"] == toy.base
    assert bench.image(record["id"])["files"] == {"engine.py": "one = 1\n"}


def test_a_run_that_was_killed_is_cleaned_up_after(toy: Toy, bench: Bench) -> None:
    bench.made(source(toy))
    checkout = bench.folder / "cache/engine/source"
    (checkout / ".git/index.lock").write_text("")
    (checkout / "engine.py").write_text("half\n")
    (checkout / "sparkiac-mods/0").mkdir(parents=True)
    (checkout / "sparkiac-mods/0/left.sh").write_text("left\n")
    assert bench.image(bench.made(source(toy))["id"])["files"] == {"engine.py": "one = 1\n"}


def test_a_pick_that_the_source_has_already(toy: Toy, bench: Bench) -> None:
    """Re-applying a fix that is there is no fix: the source says to look before building."""
    toy.branch("work", toy.base)
    pick = toy.commit("decode.py", "steady = True\n", subject=SUBJECT)
    toy.branch("main", toy.base)
    toy.commit("other.py", "", subject="other")
    head = toy.commit("decode.py", "steady = True\n", subject="the same by another name")
    text = source(toy, picks(pick)).replace(toy.base, head)
    assert bench.refused(text) == (
        f"the commit {pick} changes nothing because the source already contains it; remove it from the inventory"
    )


def request(number: int, commit: str, *, repository: str = "", base: str = "") -> str:
    more = (f", repository: {repository}" if repository else "") + (f", base: '{base}'" if base else "")
    return f"pull_requests: [{{number: {number}, commit: '{commit}'{more}}}]"


def test_the_commits_of_a_pull_request_are_picked(toy: Toy, bench: Bench) -> None:
    """What it merged from elsewhere is not its own."""
    toy.branch("work", toy.base)
    one = toy.commit("a.py", "a = 1\n", subject="a")
    toy.branch("main", toy.base)
    toy.commit("engine.py", "one = 2\n", subject="what must not get in")
    toy.branch("work", one)
    toy.git("merge", "--quiet", "--no-edit", "main")
    two = toy.commit("b.py", "b = 1\n", subject="b")
    toy.head_of_pull_request(7, two)
    record = bench.made(source(toy, request(7, two)))
    assert record["picked"] == [{"asked": "#7", "picked": each} for each in (one, two)]
    assert bench.image(record["id"])["files"] == {"a.py": "a = 1\n", "b.py": "b = 1\n", "engine.py": "one = 1\n"}


def test_a_pull_request_to_another_repository_and_where_it_starts(toy: Toy, bench: Bench) -> None:
    """A fork has other numbers: the pull request is made to upstream."""
    upstream = type(toy)(toy.path.with_name("upstream"))
    start = upstream.commit("far.py", "far = 1\n", subject="far ahead of the fork")
    head = upstream.commit("fix.py", "fix = 1\n", subject="fix")
    upstream.head_of_pull_request(41834, head)
    line = request(41834, head, repository=upstream.address, base=start)
    record = bench.made(source(toy, line))
    assert bench.image(record["id"])["files"] == {"engine.py": "one = 1\n", "fix.py": "fix = 1\n"}
    wrong = request(41834, head, repository=upstream.address, base=toy.commit("x.py", "", subject="x"))
    bench.record.unlink()
    sentence = bench.refused(source(toy, wrong))
    assert sentence.startswith(f"pull request 41834 of {upstream.address} does not start from its base ")


def test_a_pull_request_whose_head_moved_is_refused(toy: Toy, bench: Bench) -> None:
    """Moved, or not there at all."""
    reviewed = toy.commit("a.py", "a = 1\n", subject="a")
    head = toy.commit("a.py", "a = 'something else'\n", subject="b")
    toy.head_of_pull_request(7, head)
    sentence = bench.refused(source(toy, request(7, reviewed)))
    assert sentence == (
        f"pull request 7 of {toy.address} has moved from {reviewed}: its head is now {head}; review it again"
    )
    sentence = bench.refused(source(toy, request(8, reviewed)))
    assert sentence.endswith(f"has moved from {reviewed}: it no longer exists; review it again")
    assert bench.asked() == []


def test_a_pull_request_that_adds_nothing(toy: Toy, bench: Bench) -> None:
    toy.head_of_pull_request(7, toy.base)
    sentence = bench.refused(source(toy, request(7, toy.base)))
    assert sentence == f"pull request 7 of {toy.address} adds no commits; remove it from the inventory"


def test_a_repository_that_cannot_be_reached(toy: Toy, bench: Bench) -> None:
    text = source(toy).replace(toy.address, "file:///nowhere/at/all")
    assert bench.refused(text).startswith(f"cannot fetch the commit {toy.base} from file:///nowhere/at/all: ")


@pytest.mark.parametrize("place", ["builds/engine/record.json", "builds/record.json", "record.json"])
def test_nothing_is_written_into_the_generated_tree(toy: Toy, bench: Bench, place: str) -> None:
    bench.render(source(toy))
    (bench.folder / "tree/.sparkiac-manifest.json").write_text("{}")
    done = bench.run(str(bench.folder / "tree" / place))
    assert done.code == 1
    assert "is in the generated tree, which may contain generated files only" in done.err
    done = bench.run(str(bench.record), "--cache", str(bench.folder / "tree/cache"))
    assert "is in the generated tree" in done.err
    assert bench.asked() == []


def test_a_record_that_cannot_be_written_is_reported_before_the_build(toy: Toy, bench: Bench) -> None:
    bench.render(source(toy))
    done = bench.run(str(bench.folder / "missing/record.json"))
    assert (done.code, done.err) == (1, f"build: the directory {bench.folder / 'missing'} does not exist\n")


def test_a_spec_that_was_changed_by_hand(toy: Toy, bench: Bench) -> None:
    bench.render(source(toy))
    spec = bench.build / "spec.json"
    spec.write_text(spec.read_text().replace(toy.base, "1" * 40))
    done = bench.run()
    assert done.err == "build: spec.json was edited; change the inventory and generate it again\n"


def test_a_base_image_that_nobody_pinned(toy: Toy, bench: Bench) -> None:
    bench.render(source(toy), locked="version: 1\nimages: {}\n")
    done = bench.run()
    assert (
        done.err
        == "build: the lock does not pin the base image example.org/base:1; run sparkiac lock and generate first\n"
    )


def test_the_usual_cache_is_that_of_the_user(toy: Toy, bench: Bench) -> None:
    bench.render(source(toy))
    assert bench.run(str(bench.record)).code == 0
    assert (bench.folder / "home/.cache/sparkiac/builds/engine/source/engine.py").is_file()
