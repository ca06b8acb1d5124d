"""Playbooks as commands: the shipped ones with the real Ansible, on hosts that are folders with a stand-in `switch`."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.commands import verbs
from sparkiac.commands.verbs import VERBS, named
from sparkiac.report import assets
from tests.commands import fleet
from tests.commands.fleet import LOCAL
from tests.conftest import ROOT
from tests.host.conftest import SCRIPTS
from tests.host.staging import write_stubs
from tests.host.test_prune import DOCKER
from tests.plan.fleets import PAIR, planned

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SMALL: Final = "  small: {recipe: base/single-spark, model: example/model, hosts: spark-02, port: 8001}\n"
OLD, NEW = "a" * 16, "b" * 16

COMMON: Final = {"inventory", "names", "output", "yes", "only_check", "output_format"}
STUB: Final = ROOT / "tests/host/stubs/switch"


@pytest.fixture
def at(folder: Path, hosts: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Generate a fleet whose hosts are folders with a stand-in for `switch`; return the folder of the hosts."""
    shutil.rmtree(hosts / "playbooks")
    shutil.copytree(ROOT / "playbooks", hosts / "playbooks")
    shutil.copytree(ROOT / "sparkiac/host", hosts / "sparkiac/host")
    shutil.copy(STUB, hosts / "sparkiac/host/switch/program.py")  # the one that the playbooks send
    shipped = assets.directory
    monkeypatch.setattr(assets, "directory", lambda name: hosts / name if name == "sparkiac/host" else shipped(name))
    fleet.forget()
    fleet.write(folder)
    (folder / "lab.yaml").write_text(fleet.INVENTORY + SMALL)
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 0, outcome.text
    for host in ("spark-01", "spark-02"):
        place = folder / "at" / host / "usr/local/lib/sparkiac"
        place.mkdir(parents=True)
        shutil.copy(STUB, place)
        for name in (OLD, NEW):
            (folder / "at" / host / "var/lib/sparkiac/generations" / name / "files").mkdir(parents=True)
        state = {"current": NEW, "committed": NEW, "previous": OLD}
        (folder / "at" / host / "state.json").write_text(json.dumps(state))
        (folder / "at" / host / "history.json").write_text(json.dumps(history()))
    return folder / "at"


def history() -> list[dict[str, object]]:
    """Return the switches that a host remembers: to the old generation, and to the new one."""
    common = {"outcome": "committed", "run": "r"}
    return [
        {"generation": OLD, "commit": "1" * 40, "time": 1, "changes": ["start sparkiac-small"], **common},
        {"generation": NEW, "commit": "2" * 40, "time": 2, "changes": ["restart sparkiac-small"], **common},
    ]


def local(at: Path, *words: str) -> tuple[str, ...]:
    """Return the words that let Ansible take these folders for the hosts."""
    given = {"ansible_become": False, "sparkiac_root": f"{at}/{{{{ lease_host | default(inventory_hostname) }}}}"}
    return ("--", *LOCAL, "-e", json.dumps(given), *words)


def asked(at: Path, host: str) -> list[str]:
    """Return what the stand-in on a host was asked to do."""
    path = at / host / "asked"
    return path.read_text().splitlines() if path.exists() else []


def test_a_drain_of_a_deployment_is_one_of_its_host_and_says_how_it_ended(at: Path, cli: Cli) -> None:
    outcome = cli("drain", "lab.yaml", "small", "--yes", *local(at))
    assert outcome.code == 0, outcome.text
    assert outcome.out.startswith(
        "spark-02\n  would drain sparkiac-small\nspark-02\n  sparkiac-small: drained in 0 s\nDrained 1 host in "
    )
    assert asked(at, "spark-02") == ["drain sparkiac-small"]
    assert asked(at, "spark-01") == []
    outcome = cli("undrain", "lab.yaml", "spark-01", "--format", "json", *local(at))
    found = json.loads(outcome.out)
    assert (outcome.code, found["applied"]["outcomes"]) == (0, {"spark-01": "done"})
    assert asked(at, "spark-01") == ["undrain"]


def test_a_rollback_lists_the_states_of_the_fleet_and_puts_all_hosts_on_one(at: Path, cli: Cli) -> None:
    """The hosts run different generations: one of them is on the older state already."""
    listed = cli("rollback", "lab.yaml", *local(at))
    assert listed.code == 0, listed.text
    rows = [re.split(" {2,}", line.strip())[1:] for line in listed.out.splitlines()[2:]]
    both = "spark-01 and spark-02"
    assert rows == [["2" * 12, "restart small", "runs", both], ["1" * 12, "start small", "committed", both]]
    (at / "spark-02/state.json").write_text(json.dumps({"current": OLD, "committed": OLD, "previous": NEW}))
    outcome = cli("rollback", "lab.yaml", "--to", "1" * 7, "--yes", *local(at))
    assert outcome.code == 0, outcome.text
    assert [line.strip() for line in outcome.out.splitlines()[3:7]] == [
        *("spark-01", f"would switch spark-01 to {OLD}", "spark-02", f"runs {OLD} already")
    ]
    assert outcome.out.splitlines()[-1].startswith("Switched 1 host in ")
    assert (at / "order").read_text().split() == ["spark-01", OLD, "committed"]
    assert (at / "spark-01/commit").read_text() == "1" * 40
    outcome = cli("rollback", "lab.yaml", "--to", "2" * 40, "--yes", *local(at))
    assert outcome.code == 0, outcome.text
    assert (at / "order").read_text().split()[3:] == ["spark-01", NEW, "committed", "spark-02", NEW, "committed"]
    assert not any((at / host / "lease.json").exists() for host in ("spark-01", "spark-02"))


def test_a_state_is_named_by_the_subject_of_its_commit(at: Path, cli: Cli) -> None:
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-qm", "Serve the small model", "--allow-empty"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (at / "spark-01/history.json").write_text(json.dumps([{**history()[1], "commit": commit}]))
    outcome = cli("rollback", "lab.yaml", "spark-01", *local(at))
    [_, _, row] = outcome.out.splitlines()
    assert re.split(" {2,}", row.strip())[1:] == [commit[:12], "Serve the small model", "runs", "spark-01"]


def test_check_shows_what_would_be_done_and_does_nothing(at: Path, cli: Cli) -> None:
    outcome = cli("reboot", "lab.yaml", "spark-01", "--check", *local(at))
    assert (outcome.code, outcome.out) == (0, "spark-01\n  would stop sparkiac-chat and reboot\n"), outcome.text
    found = json.loads(cli("rollback", "lab.yaml", "--to", "previous", "--check", "--format", "json", *local(at)).out)
    assert found["would"]["spark-02"] == [f"would switch spark-02 to {OLD}"]
    assert not (at / "order").exists()


def test_an_uninstall_is_listed_and_confirmed(at: Path, cli: Cli) -> None:
    outcome = cli("uninstall", "lab.yaml", "spark-01", "--weights", "--yes", *local(at))
    assert outcome.code == 0, outcome.text
    said = [line.strip() for line in outcome.out.splitlines() if line.startswith("  ")]
    gone = ("/etc/sparkiac", "sparkiac-qwen36")
    assert said == [f"{verb} {each}" for verb in ("would remove", "removed") for each in gone]
    assert asked(at, "spark-01") == ["uninstall --dry-run --weights", "uninstall --weights"]
    assert asked(at, "spark-02") == []


def test_a_host_that_differs_by_hand_is_shown_and_fails(at: Path, cli: Cli) -> None:
    outcome = cli("drift", "lab.yaml", *local(at))
    assert outcome.code == 0, outcome.text
    assert outcome.out.startswith("spark-01, spark-02\n  no drift\nCompared 2 hosts in ")
    drift = {"files": [], "sysctls": [], "units": [], "lines": ["edited: /etc/sparkiac/qwen36/compose.yaml"]}
    (at / "spark-02/drift").write_text(json.dumps(drift))
    outcome = cli("drift", "lab.yaml", *local(at))
    assert outcome.code == 1, outcome.text
    assert "spark-02: spark-02 differs from its generation." in outcome.out
    assert "spark-01\n  no drift\nspark-02\n  edited: /etc/sparkiac/qwen36/compose.yaml\n" in outcome.out


def test_a_state_that_no_host_knows_changes_nothing(at: Path, cli: Cli) -> None:
    outcome = cli("rollback", "lab.yaml", "--to", "3" * 12, "--yes", *local(at))
    assert (outcome.code, outcome.err) == (2, f"no states are called {'3' * 12}; without --to, rollback lists them\n")
    shutil.rmtree(at / "spark-02/var/lib/sparkiac/generations" / OLD)
    outcome = cli("rollback", "lab.yaml", "--to", "1" * 12, "--yes", *local(at))
    assert (outcome.code, outcome.err.count("is not kept on spark-02")) == (2, 1), outcome.text
    assert not (at / "order").exists()


def test_prune_lists_and_removes_what_no_kept_generation_needs(
    at: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is the real one; docker is a stand-in with a list of images."""
    monkeypatch.setenv("PATH", f"{at / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("STUB", str(at))
    (at / "bin").mkdir()
    write_stubs(at / "bin", {"docker": DOCKER})
    (at / "images").write_text("example.org/old sha256:1\nexample.org/new sha256:2\n")
    (at / "used").write_text("")
    hashes = Path("generated/lab/host_vars/spark-02/hashes.yml").read_text()
    [now] = re.findall(r"^  generation: \"?([0-9a-f]{16})", hashes, re.MULTILINE)
    for name, image in ((OLD, "example.org/old"), (now, "example.org/new")):
        needs = json.dumps({"images": [image], "stores": [], "extra_files": [], "caches": []})
        argv = [SCRIPTS / "stage", "record", "--generation", name, "--needs", needs, "--root", at / "spark-02"]
        subprocess.run(argv, check=True, capture_output=True)
    roots = {
        "prune_root": f"{at}/{{{{ inventory_hostname }}}}",
        "prune_program": str(SCRIPTS / "stage"),
        "prune_keep": 1,
    }
    words = local(at, "-e", json.dumps({**roots, "prune_lists": str(at / "lists")}))
    outcome = cli("prune", "lab.yaml", "spark-02", "--check", *words)
    assert outcome.code == 0, outcome.text
    assert "would remove image example.org/old" in outcome.out
    assert "example.org/old" in (at / "images").read_text()
    outcome = cli("prune", "lab.yaml", "spark-02", "--yes", *words)
    assert outcome.code == 0, outcome.text
    assert "  removed image example.org/old" in outcome.out
    assert (at / "images").read_text().split()[0] == "example.org/new"
    outcome = cli("prune", "lab.yaml", "spark-02", "--yes", *words)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "Nothing to do."), outcome.text


def test_driver_holds_packages_and_refuses_a_version(at: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for dpkg-query and apt-mark have one package."""
    monkeypatch.setenv("PATH", f"{at / 'bin'}:{os.environ['PATH']}")
    (at / "bin").mkdir()
    mark = f'[ "$1" = showhold ] && {{ cat {at}/held; exit; }}; shift; echo "$@" >{at}/held\n'
    for name, text in (("dpkg-query", "echo nvidia-driver-580-open 580.142-0ubuntu1 installed\n"), ("apt-mark", mark)):
        (at / "bin" / name).write_text(f"#!/bin/sh\n{text}")
        (at / "bin" / name).chmod(0o755)
    (at / "held").touch()
    outcome = cli("driver", "lab.yaml", "spark-02", "--check", *local(at))
    assert outcome.code == 0, outcome.text
    assert "would hold nvidia-driver-580-open" in outcome.out
    assert (at / "held").read_text() == ""
    outcome = cli("driver", "lab.yaml", "spark-02", "--yes", *local(at))
    assert outcome.code == 0, outcome.text
    assert (at / "held").read_text() == "nvidia-driver-580-open\n"
    outcome = cli("driver", "lab.yaml", "spark-02", "--upgrade-to", "590.44", "--yes", *local(at))
    assert (outcome.code, "CUDA graphs hung with it" in " ".join(outcome.out.split())) == (1, True), outcome.text


def test_exit_4_for_an_example_lock(cli: Cli, at: Path) -> None:
    lock = Path("lab.lock.yaml")
    lock.write_text(lock.read_text().replace("version: 1\n", "version: 1\nexample: true\n"))
    outcome = cli("drain", "lab.yaml", "small", "--yes", *local(at))
    assert (outcome.code, outcome.err.count("LCK033")) == (4, 1), outcome.text
    assert asked(at, "spark-02") == []


def test_exit_6_for_a_host_that_is_unreachable(cli: Cli, at: Path) -> None:
    nowhere = ("-e", "ansible_connection=ssh", "-e", "ansible_host=127.0.0.1", "-e", "ansible_port=1")
    outcome = cli("drain", "lab.yaml", "small", "--yes", *local(at, *nowhere))
    assert outcome.code == 6, outcome.text
    assert "spark-02 is unreachable: " in outcome.out


def test_exit_130_for_a_question_that_is_answered_with_no(cli: Cli, at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    outcome = cli("drain", "lab.yaml", "small", *local(at))
    assert (outcome.code, "Drain spark-02? [y/N]" in outcome.err) == (130, True), outcome.text
    assert asked(at, "spark-02") == []


def test_exit_5_for_a_host_that_an_apply_changes(at: Path, cli: Cli) -> None:
    (at / "spark-01/lease.json").write_text(json.dumps({"run": "r1", "owner": "ann [desk/1], pid 1", "age_s": 9}))
    outcome = cli("rollback", "lab.yaml", "--to", "previous", "--yes", *local(at))
    assert outcome.code == 5, outcome.text
    assert "another apply holds a lease" in " ".join(outcome.out.split())
    assert not (at / "order").exists()


@pytest.mark.usefixtures("at")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["drain", "lab.yaml", "smal", "--yes"], "unknown host or deployment 'smal'; did you mean 'small'?"),
        (["drain", "lab.yaml", "nosuch"], "unknown host or deployment 'nosuch'"),
        (["reboot", "lab.yaml", "spark-3", "--yes"], "did you mean 'spark-0"),
        (["drain", "lab.yaml", "small", "spark-01", "--yes"], "unknown host of small 'spark-01'"),
        (["drain", "lab.yaml", "small", "chat", "--yes"], "name one deployment or service, not small and chat"),
        (["restart", "lab.yaml", "spark-01", "--yes"], "name one deployment or service, not only hosts"),
        (["restart", "lab.yaml", "--yes"], "Missing argument 'DEPLOYMENT [HOST]...'"),
        (["drain", "lab.yaml", "small", "--yes", "--", "--limit", "spark-01"], "as arguments or with -- --limit"),
        (["reboot", "lab.yaml"], "a confirmation needs a terminal: add --yes; --check only shows"),
        (["rollback", "lab.yaml", "--to", "-1", "--yes"], "'-1' is not of the form previous or 4d513ffd09ab"),
        (["driver", "lab.yaml", "--upgrade-to", "{{ x }}", "--yes"], "'{{ x }}' is not of the form 580.142"),
        (["prune", "lab.yaml", "--limit", "spark-01"], "Options of ansible-playbook go after --"),
        (["undrain", "lab.yaml", "--yes"], "No such option '--yes'"),
    ],
)
def test_exit_2_before_anything_runs(cli: Cli, words: list[str], message: str) -> None:
    outcome = cli(*words)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
    assert not list(Path("at").glob("*/asked"))


@pytest.mark.usefixtures("at")
def test_exit_3_for_a_directory_that_is_out_of_date(cli: Cli) -> None:
    Path("lab.yaml").write_text(fleet.INVENTORY)
    outcome = cli("drain", "lab.yaml", "--yes")
    assert outcome.code == 3
    assert "generated/lab is out of date" in outcome.err


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_a_shipped_playbook_and_sets_variables_that_it_reads(name: str) -> None:
    verb = VERBS[name]
    text = (ROOT / f"playbooks/{name}.yml").read_text()
    text += "".join(path.read_text() for path in (ROOT / f"playbooks/roles/{name}").rglob("*.yml"))
    assert variables(name) <= set(re.findall(r"\w+", text))
    assert verb.summary.endswith(".")
    assert not verb.question or "{}" in verb.question


def variables(name: str) -> set[str]:
    """Return the names of all variables that a verb can set."""
    verb = VERBS[name]
    own = {"a unit": {"unit"}, "hosts or a unit": {"unit"}, "a turn": {"turn"}}.get(verb.takes, set())
    options = {str(each.name) for each in verbs.command(name).params} - COMMON - {"state"}
    return own | options | ({"generation", "commit"} if verb.lists else set()) | {key for key, _ in verb.variables}


def test_the_question_names_the_hosts_of_a_group_with_their_ranks(
    cli: Cli, at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    Path("lab.yaml").write_text(PAIR.replace("name: pair", "name: lab"))
    assert cli("generate", "lab.yaml", "--allow-unlocked").code == 0
    outcome = cli("drain", "lab.yaml", "big", *local(at))
    assert "Drain spark-01 (rank 1) and spark-02 (rank 0)? [y/N]" in outcome.err, outcome.text


def test_a_deployment_of_a_group_stands_for_its_hosts() -> None:
    found = named(planned(PAIR), ["big"])
    assert found.owners == ("spark-01", "spark-02")
    assert named(planned(PAIR), ["spark-01", "spark-01"]).hosts == ("spark-01",)
