"""Which commit of the repository a host runs."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from sparkiac.fleet import looks
from sparkiac.host import state
from sparkiac.host.switch import history, program, run, store
from tests.host.switching import Host, generation

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND, BAD = (generation({"a": text}) for text in ("one", "two", "crash"))


def switch(host: Host, made: object, commit: str | None) -> None:
    store.stage(host, made.staged)  # type: ignore[attr-defined]
    run.run(host, run.Request(made.name, f"run {(commit or 'none')[0]}", "", [], None, commit))  # type: ignore[attr-defined]


def test_the_commit_of_the_committed_generation_is_known(tmp_path: Path) -> None:
    """A refused one is remembered as such, and a rollback has the commit that it goes back to."""
    host = Host(tmp_path)
    for made, commit in ((FIRST, "1" * 40), (SECOND, "2" * 40), (BAD, "3" * 40), (FIRST, None)):
        switch(host, made, commit)
        found = history.read(host)
        now = history.last(found, state.read(host).committed)
        assert now
        assert now.commit in {"1" * 40, "2" * 40}
    assert [(each.generation, each.commit, each.outcome) for each in found] == [
        (FIRST.name, "1" * 40, "committed"),
        (SECOND.name, "2" * 40, "committed"),
        (BAD.name, "3" * 40, "back"),
        (FIRST.name, "1" * 40, "committed"),
    ]
    assert [each.run for each in found] == ["run 1", "run 2", "run 3", "run 1"]
    assert [each.changes for each in found] == [[f"{each} sparkiac-a"] for each in ("start", *["restart"] * 3)]
    assert history.last(found, BAD.name) is None


@pytest.mark.parametrize("text", ["", "[]", '[{"generation": 1}]'])
def test_without_a_readable_history_the_commit_is_unknown(tmp_path: Path, text: str) -> None:
    host = Host(tmp_path)
    host.write(history.HISTORY, text)
    assert history.read(host) == []
    switch(host, FIRST, None)
    assert [each.commit for each in history.read(host)] == [None]


def test_only_the_last_switches_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT", 2)
    host = Host(tmp_path)
    for name in "abc":
        history.add(host, history.Applied(name, None, "run", 0, history.COMMITTED, []))
    assert [each.generation for each in history.read(host)] == ["b", "c"]


def test_two_hosts_at_different_generations_go_to_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The states are those that the controller reads from the programs of the hosts."""
    clock = itertools.count(1000, 60)
    monkeypatch.setattr(history, "time", SimpleNamespace(time=lambda: next(clock)))
    hosts = {name: Host(tmp_path / name) for name in ("one", "two")}
    for host, made, commit in ((hosts["one"], FIRST, "1"), (hosts["two"], FIRST, "1"), (hosts["one"], SECOND, "2")):
        switch(host, made, commit * 40)
    listed = looks.states({name: json.dumps(program.status(host)) for name, host in hosts.items()})
    assert [(each.name[0], list(each.outcomes), each.runs) for each in listed] == [
        ("2", ["one"], True),
        ("1", ["one", "two"], False),
    ]
    assert listed[0].changes == ("restart sparkiac-a",)
    wanted = looks.chosen(listed, "previous")
    for name, host in hosts.items():
        run.run(host, run.Request(wanted.generations[name], "back", "", [], None, wanted.commit))  # type: ignore[attr-defined]
        assert history.read(host)[-1].commit == "1" * 40
        assert state.read(host).committed == FIRST.name
