"""`sparkiac apply` with the shipped playbooks; a stand-in for `switch` is what the hosts run."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest

from sparkiac.commands.apply.options import parse
from sparkiac.commands.apply.session import ApplySession
from sparkiac.commands.apply.tree import GeneratedFleet
from sparkiac.commands.inputs import Exit
from tests.ansible_python import interpreter
from tests.commands.fleet import INVENTORY
from tests.host.test_apply import LOCAL, Bench, make
from tests.plan.fleets import planned

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    if os.geteuid() != 0:
        pytest.skip("needs root: files get the owner root")
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")  # noqa: PTH120
    monkeypatch.chdir(tmp_path)
    made = make(tmp_path)
    monkeypatch.setenv("STUB", str(made.lab))
    return made


def apply(bench: Bench, *, only_check: bool = False, **variables: object) -> Exit:
    """Apply the tree, which no inventory generates: that it is up to date was checked before."""
    generations = {
        host: re.search(r"generation: '?\"?(\w+)", (bench.lab / f"host_vars/{host}.yml").read_text())[1]  # type: ignore[index]
        for host in ("spark-01", "spark-02")
    }
    fleet = GeneratedFleet(planned(INVENTORY), bench.lab, generations)
    values = {**LOCAL, "ansible_python_interpreter": str(interpreter()), **variables}
    options = parse(["--connection=local", "-e", json.dumps(values)])
    session = ApplySession(fleet, options, bench.folder / "ansible.log", "text")
    return session.run(asks=False, only_check=only_check)


def states(said: str) -> dict[str, str]:
    """Return the last state of each host."""
    found = re.findall(r"^[\d min]* s  (spark-0\d)  (.*)$", said, re.MULTILINE)
    return dict(found)


def test_hosts_change_one_after_the_other_and_then_there_is_nothing_to_do(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert apply(bench, only_check=True) == Exit.STALE
    assert bench.order() == []
    assert apply(bench) == Exit.OK
    assert bench.order() == ["spark-01 committed", "spark-02 committed"]
    said = capsys.readouterr()
    phases = re.findall(r"^[\d min]* s  spark-01  (.*)$", said.err, re.MULTILINE)
    assert phases == ["check", "download", "switch", "gate", "done"]
    assert apply(bench) == Exit.OK
    assert "Nothing to do" in capsys.readouterr().out
    assert len(bench.order()) == 2


@pytest.mark.parametrize("policy", ["stop", "back"])
def test_each_host_is_shown_with_its_end(bench: Bench, capsys: pytest.CaptureFixture[str], policy: str) -> None:
    """Hosts that committed go back as well if the inventory says so."""
    bench.serve()
    former = bench.committed("spark-01")
    bench.generate("spark-01", "spark-02")
    bench.at("spark-02", "outcome", "back")
    assert apply(bench, sparkiac_rollout={"on_failure": policy}) == Exit.FINDINGS
    said = capsys.readouterr()
    first = {"stop": "switched", "back": "went back"}[policy]
    assert states(said.err) == {"spark-01": first, "spark-02": "went back"}
    assert "gate of spark-02: expected 7351" in re.sub(r"\s+", " ", said.out)
    assert said.out.count("gate of spark-02") == 1
    went_back = policy == "back"
    assert bench.order() == ["spark-01 committed", "spark-02 back", *(["spark-01 committed"] if went_back else [])]
    assert (bench.committed("spark-01") == former) == went_back
    log = " ".join((bench.folder / "ansible.log").read_text().split())
    assert ("spark-01: went back too, because another host failed" in log) == went_back


def test_hosts_after_a_failed_one_are_unchanged(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.at("spark-01", "outcome", "back")
    assert apply(bench) == Exit.FINDINGS
    assert states(capsys.readouterr().err) == {"spark-01": "went back", "spark-02": "unchanged"}
