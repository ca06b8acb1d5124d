"""Playbooks as commands, on real hosts: `sparkiac rollback`, `stage`, `prune`, `driver`. They build on each other."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.lab import Lab, Recap
from tests.e2e.test_maintenance import PACKAGE, REPOSITORY, committed, length, stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
HOSTS = ("spark-01", "spark-02")
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@localhost")


def git(lab: Lab, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=lab.folder, check=True, capture_output=True, text=True).stdout.strip()


def commit(lab: Lab, **lengths: int) -> str:
    """Change how long a text each model takes, generate, and return the commit of it."""
    text = lab.inventory.read_text()
    for model, tokens in lengths.items():
        text = re.sub(rf"(  {model}:\n(?:    .*\n)*?    set: ){{.*}}", rf"\1{{max_model_len: {tokens}}}", text)
    lab.inventory.write_text(text)
    lab.generate()
    git(lab, "add", "--all")
    git(lab, "commit", "-qm", f"Texts of {' and '.join(map(str, lengths.values()))} tokens")
    return git(lab, "rev-parse", "HEAD")


def verb(lab: Lab, name: str, *words: str) -> str:
    """Run a command that must succeed, and return what it prints."""
    recap: Recap = lab.sparkiac_apply(*words, command=name)
    assert recap.code == 0, recap.output
    return recap.output


def states(lab: Lab) -> list[tuple[str, str, dict[str, str], bool]]:
    """Return the states of the fleet: commit, first word of the change, how each host ended, whether it runs."""
    output = verb(lab, "rollback", "--format", "json")
    found, _ = json.JSONDecoder().raw_decode(output[output.index("{") :])
    return [(each["commit"], each["changes"][0].split()[0], each["outcomes"], each["runs"]) for each in found["states"]]


def generations(lab: Lab) -> list[int]:
    """Return how many generations each host has."""
    listing = "ls /var/lib/sparkiac/generations"
    return [len(lab.bed.ssh(host, listing, root=True).stdout.split()) for host in HOSTS]


def history(lab: Lab, host: str) -> list[dict[str, object]]:
    text = lab.bed.ssh(host, "cat /var/lib/sparkiac/history.json", root=True).stdout
    return list(json.loads(text))


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab in a repository, not applied."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    line = "    port: 8001\n"
    more = "    set: {max_model_len: 1}\n    timeouts: {drain_s: 40}\n"
    found.inventory.write_text(found.inventory.read_text().replace(line, line + more))
    (folder / ".gitignore").write_text("secrets.json\nbin/\n")
    git(found, "init", "-q")
    return found


def test_a_rollback_puts_both_hosts_on_a_commit_from_different_generations(lab: Lab) -> None:
    first = commit(lab, qwen36=32768, gemma4=32768)
    lab.stage()
    verb(lab, "apply", "--yes")
    second = commit(lab, qwen36=16384, gemma4=16384)
    verb(lab, "apply", "--yes")
    third = commit(lab, qwen36=8192, gemma4=8192)
    recap = lab.apply("--limit", "spark-01")
    assert recap.code == 0, recap.output
    assert [length(lab, host) for host in HOSTS] == [8192, 16384]
    both = dict.fromkeys(HOSTS, "committed")
    assert states(lab) == [
        (third, "restart", {"spark-01": "committed"}, True),
        (second, "restart", both, False),
        (first, "start", both, False),
    ]
    said = verb(lab, "rollback", "--to", first[:10], "--yes")
    assert f"{first[:12]}  Texts of 32768" in said
    assert said.count("would switch spark-") == 2
    assert [length(lab, host) for host in HOSTS] == [32768, 32768]
    assert [history(lab, host)[-1]["commit"] for host in HOSTS] == [first, first]
    assert [each[0] for each in states(lab) if each[3]] == [first]


def test_hosts_that_run_their_part_already_stay_as_they_are(lab: Lab) -> None:
    """The second host ran the second commit when the third one was applied to the first host."""
    third, second = (each[0] for each in states(lab)[:2])
    verb(lab, "rollback", "--to", second, "--yes")
    before = len(history(lab, "spark-02"))
    said = verb(lab, "rollback", "--to", third, "--yes")
    assert f"runs {committed(lab, 'spark-02')} already" in said
    assert "Switched 1 host in " in said
    assert [length(lab, host) for host in HOSTS] == [8192, 16384]
    assert len(history(lab, "spark-02")) == before


def test_without_a_clean_tree_a_state_has_no_commit(lab: Lab) -> None:
    """It has the name of its apply."""
    before = len(states(lab))
    (lab.folder / "note").write_text("untracked\n")
    verb(lab, "apply", "--yes")
    newest = history(lab, "spark-02")[-1]
    assert newest["commit"] is None
    assert committed(lab, "spark-02") == newest["generation"]
    found = states(lab)
    assert (len(found), found[0][0], found[0][2]) == (before + 1, None, {"spark-02": "committed"})
    (lab.folder / "note").unlink()


def test_a_removed_deployment_lets_its_stream_end(lab: Lab) -> None:
    text = lab.inventory.read_text()
    start, end = text.index("  qwen36:"), text.index("  gemma4:")
    lab.inventory.write_text(text[:start] + text[end:])
    lab.generate()
    with stream(lab) as begun:
        said = verb(lab, "apply", "--yes")
        output, _ = begun.communicate(timeout=60)
    assert "drained first, for at most 40 s" in " ".join(said.split())
    assert output.rstrip().endswith("data: [DONE]")
    assert "204" in "".join(re.findall(r'"content": "([^"]*)"', output))
    assert lab.bed.ssh("spark-01", "docker ps -q", root=True).stdout == ""


def test_stage_stages_and_changes_nothing_that_runs(lab: Lab) -> None:
    before = generations(lab)
    commit(lab, gemma4=4096)
    verb(lab, "stage", "spark-02", "--check")
    assert generations(lab) == before
    verb(lab, "stage", "spark-02")
    assert generations(lab) == [before[0], before[1] + 1]
    assert length(lab, "spark-02") == 8192
    verb(lab, "apply", "--yes")
    assert length(lab, "spark-02") == 4096


def test_prune_removes_what_no_kept_generation_needs(lab: Lab) -> None:
    oldest, before = states(lab)[-1][0], generations(lab)
    assert min(before) > 3
    assert "would remove generation" in verb(lab, "prune", "--check")
    assert generations(lab) == before
    assert "removed generation" in verb(lab, "prune", "--yes")
    assert generations(lab) == [3, 3]
    recap = lab.sparkiac_apply("--to", oldest, "--yes", command="rollback")
    assert (recap.code, "refused, or removed by prune" in recap.output) == (2, True), recap.output


def test_driver_holds_the_packages_and_refuses_a_version(lab: Lab) -> None:
    lab.bed.ssh("spark-02", REPOSITORY, root=True)
    try:
        assert f"would hold {PACKAGE}" in verb(lab, "driver", "spark-02", "--check")
        assert lab.bed.ssh("spark-02", "apt-mark showhold", root=True).stdout == ""
        assert f"{PACKAGE} 580.142-0ubuntu1" in verb(lab, "driver", "spark-02", "--yes")
        assert lab.bed.ssh("spark-02", "apt-mark showhold", root=True).stdout.split() == [PACKAGE]
        recap = lab.sparkiac_apply("spark-02", "--upgrade-to", "580.159", "--yes", command="driver")
        assert (recap.code, "the inventory requires 580.142" in " ".join(recap.output.split())) == (1, True), (
            recap.output
        )
    finally:
        undo = f"apt-mark unhold {PACKAGE}; dpkg -P {PACKAGE}; rm -rf /srv/apt /etc/apt/sources.list.d/bed.list"
        lab.bed.ssh("spark-02", undo, root=True)
