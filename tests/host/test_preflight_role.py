"""The role `preflight`, run by Ansible on this machine: the script on stdin, and what two hosts say together."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkiac.host.preflight.expectations import Expectations
from tests import pythons
from tests.host.conftest import SCRIPTS
from tests.host.expected import complete
from tests.host.plays import play

ROOT = Path(__file__).parents[2]
SMI = "#!/bin/sh\necho 'NVIDIA GB10, 12.1, 590.44'\n"
MODEL = "models--a--b"
PROGRAMS = "playbooks/roles/programs/files/usr/local/lib/sparkiac"


@dataclass(frozen=True)
class Bench:
    """A tree of two hosts, which both are this machine, each with a model store of its own."""

    folder: Path

    def expect(self, host: str, **wanted: object) -> None:
        """Write what a host is expected to be."""
        path = self.folder / f"hosts/{host}/etc/sparkiac/preflight.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(complete(Expectations, {"host": host, **wanted})))

    def stage(self, host: str, commit: str) -> list[dict[str, Any]]:
        """Put a model of a group into the host's store; give what is expected of that."""
        store = self.folder / f"stores/{host}"
        (store / MODEL / "snapshots" / commit).mkdir(parents=True)
        (store / MODEL / "snapshots" / commit / "config.json").write_text("{}")
        return [{"path": str(store), "models": [MODEL], "compared": {MODEL: ["big"]}}]

    def apply(self, *words: str) -> tuple[int, str]:
        """Run the role on both hosts; give the exit code and what was said, on one line."""
        done = play(self.folder, *words, playbook="playbooks/play.yml", inventory="here,there,")
        return done.code, done.sentence


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in ("bin", "playbooks"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/nvidia-smi").write_text(SMI)
    (tmp_path / "bin/nvidia-smi").chmod(0o755)
    written = {"hosts": "all", "gather_facts": False, "any_errors_fatal": True}
    written |= {"vars": {"sparkiac": {"host": "{{ inventory_hostname }}"}}}
    written |= {"vars_files": [str(ROOT / "playbooks/vars/main.yml")]}
    for name in ("bundle.py", "lookup_plugins"):
        (tmp_path / "playbooks" / name).symlink_to(ROOT / "playbooks" / name)
    written |= {"roles": [{"role": str(ROOT / "playbooks/roles/preflight")}]}
    (tmp_path / "playbooks/play.yml").write_text(yaml.safe_dump([written]))
    made = Bench(tmp_path)
    for host in ("here", "there"):
        made.expect(host)
    shutil.copytree(SCRIPTS, tmp_path / PROGRAMS)
    return made


def test_the_parts_arrive_as_one_program_and_leave_nothing(bench: Bench) -> None:
    """A dry run checks as much, and no file is written but Ansible's own."""
    bench.expect("here", driver="590", doubted_drivers=[{"series": "590", "why": "it was seen to hang"}])
    before = {path for path in bench.folder.rglob("*") if "home" not in path.parts}
    for words in ((), ("--check",)):
        code, said = bench.apply(*words)
        assert code == 0, said
        assert "changed=0" in said
        assert "warn DRV001 driver: found 590.44, wanted not 590; hint: it was seen to hang" in said
    assert {path for path in bench.folder.rglob("*") if "home" not in path.parts} == before
    left = [path for path in (bench.folder / "home").rglob("*") if path.is_file()]
    assert [path for path in left if "preflight" in path.name or path.suffix in {".py", ".pyc"}] == []


def test_it_runs_on_the_oldest_python(bench: Bench) -> None:
    oldest, log = pythons.interpreter("3.10"), bench.folder / "python.log"
    (bench.folder / "bin/python3").write_text(f'#!/bin/sh\n"{oldest}" --version >>"{log}"\nexec "{oldest}" "$@"\n')
    (bench.folder / "bin/python3").chmod(0o755)
    bench.expect(
        "here",
        architecture="vax",
        driver="590",
        secrets=[{"name": "key", "mode": "0600", "header": False}],
        store=bench.stage("here", "abc"),
    )
    code, said = bench.apply("-e", '{"sparkiac_secrets": {"key": "x"}}')
    assert code == 2
    assert re.search(
        r"here: preflight checks failed:.{0,9}FAIL HST009 architecture: found \S+, wanted vax; hint: the images", said
    )
    assert "key:" not in said, "what is well is not shown"
    assert "Traceback" not in said
    assert set(re.findall(r"Python (\d+\.\d+)", log.read_text())) == {"3.10"}


@pytest.mark.parametrize("key", ["hunter2\n", " hunter2", "hunter\u00fc"])
def test_an_api_key_that_no_header_can_carry_is_refused_by_its_name(bench: Bench, key: str) -> None:
    bench.expect("here", secrets=[{"name": "key", "mode": "0600", "header": True}])
    passed = {"sparkiac_secrets": {"key": key, "other": key}}
    code, said = bench.apply("-e", json.dumps(passed))
    assert code == 2
    assert "no HTTP header can carry these API keys: key; remove line ends" in said
    assert "hunter" not in said


def test_one_host_that_fails_stops_the_other(bench: Bench) -> None:
    bench.expect("there", driver="580.142")
    code, said = bench.apply()
    assert code == 2
    assert "FAIL DRV001 driver: found 590.44, wanted 580.142" in said


def test_what_a_script_that_cannot_run_says_is_shown(bench: Bench) -> None:
    part = bench.folder / PROGRAMS / "host/preflight/needs.py"
    part.write_text("raise SystemExit('broken part')")
    code, said = bench.apply()
    assert code == 2
    assert "broken part" in said


def test_the_nodes_of_a_group_have_one_revision_of_each_model(bench: Bench) -> None:
    """(MN008) The columns may be wider on one of them."""
    bench.expect("here", store=bench.stage("here", "abc"), driver="590")
    bench.expect("there", store=bench.stage("there", "abc"), image_drivers=[{"unit": "a" * 60, "min_driver": "1"}])
    code, said = bench.apply()
    assert code == 0, said


def test_two_revisions_in_one_group_stop_the_play(bench: Bench) -> None:
    """(MN008) Both are named."""
    for host, commit in (("here", "abc"), ("there", "def")):
        bench.expect(host, store=bench.stage(host, commit))
    code, said = bench.apply()
    assert code == 2
    assert "The hosts of a group must have the same revision of each model" in said
    for commit in ("abc", "def"):
        assert f"revision of a/b for big: {commit}" in said


def test_a_revision_that_only_one_node_knows_stops_the_play(bench: Bench) -> None:
    """(MN008) Nobody can say that they are the same."""
    for host in ("here", "there"):
        store = bench.folder / f"stores/{host}"
        (store / "a/b").mkdir(parents=True)
        (store / "a/b/config.json").write_text("{}")
        bench.expect(host, store=[{"path": str(store), "models": ["a/b"], "compared": {"a/b": ["big"]}}])
    code, said = bench.apply()
    assert code == 0, said
    note = bench.folder / "stores/here/a/b/.cache/huggingface/download/config.json.metadata"
    note.parent.mkdir(parents=True)
    note.write_text("abc\n")
    code, said = bench.apply()
    assert code == 2
    assert "revision of a/b for big: not recorded" in said
