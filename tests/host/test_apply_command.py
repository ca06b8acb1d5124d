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
from tests.forked_python import interpreter
from tests.host import tree
from tests.host.test_apply import LOCAL, Bench, make
from tests.plan.fleets import deployment, planned

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Bench:
    if os.geteuid() != 0:
        pytest.skip("needs root: files get the owner root")
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")  # noqa: PTH120
    monkeypatch.chdir(tmp_path)
    made = make(tmp_path, getattr(request, "param", tree.PAIR))
    monkeypatch.setenv("STUB", str(made.lab))
    return made


def apply(bench: Bench, *, only_check: bool = False, **variables: object) -> Exit:
    """Apply the tree, which no inventory generates: that it is up to date was checked before."""
    generations = {
        host: re.search(r"generation: '?\"?(\w+)", (bench.lab / f"host_vars/{host}/hashes.yml").read_text())[1]  # type: ignore[index]
        for host in bench.hosts()
    }
    addresses = ", ".join(f"{host}: {{address: 192.168.1.1{host[-1]}}}" for host in generations)
    fleet = GeneratedFleet(planned(deployment(host=addresses)), bench.lab, generations)
    values = {**LOCAL, "ansible_python_interpreter": str(interpreter()), **variables}
    options = parse(["--connection=local", "-e", json.dumps(values)])
    session = ApplySession(fleet, options, bench.folder / "ansible.log", "text")
    return session.run(asks=False, only_check=only_check, older=False)


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


@pytest.mark.parametrize(
    ("bench", "policy"),
    [((*tree.PAIR, ("spark-03",)), "stop"), (tree.PAIR, "back")],
    ids=["stop", "back"],
    indirect=["bench"],
)
def test_each_host_is_shown_with_its_end(bench: Bench, capsys: pytest.CaptureFixture[str], policy: str) -> None:
    """A host after the one that failed is not changed; hosts before it go back as well if the inventory says so."""
    bench.serve()
    hosts = bench.hosts()
    former = {host: bench.committed(host) for host in hosts}
    bench.generate(*hosts)
    bench.at("spark-02", "outcome", "back")
    assert apply(bench, sparkiac_rollout={"on_failure": policy}) == Exit.FINDINGS
    said = capsys.readouterr()
    went_back = policy == "back"
    ends = {"spark-01": "went back" if went_back else "switched", "spark-02": "went back", "spark-03": "unchanged"}
    assert states(said.err) == {host: ends[host] for host in hosts}
    # What a host says is shown once, and never evaluated.
    assert "gate of spark-02: expected 7351, got {{ lookup('pipe','id') }}" in re.sub(r"\s+", " ", said.out)
    assert said.out.count("gate of spark-02") == 1
    assert bench.order() == ["spark-01 committed", "spark-02 back", *(["spark-01 committed"] if went_back else [])]
    assert [host for host in hosts if bench.committed(host) == former[host]] == hosts[0 if went_back else 1 :]
    log = " ".join((bench.folder / "ansible.log").read_text().split())
    assert "spark-02: went back to the generation that ran before" in log
    assert ("spark-01: went back too, because another host failed" in log) == went_back
    assert ("spark-03: not changed" in log) == ("spark-03" in hosts)
    assert [bench.at(host, "lease.json") for host in hosts] == [""] * len(hosts)
