"""`sparkiac apply` with the real Ansible, on hosts that are this machine: what it shows, and how it can end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.commands.inputs import Exit
from tests.commands import fleet
from tests.commands.fleet import LEASE, LOCAL, RESTART, SAME
from tests.conftest import ROOT
from tests.forked_python import interpreter
from tests.plan.fleets import service

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

TABLE: Final = """\
host      generation           files  changes
────────────────────────────────────────────────────────────────────────────────
spark-01  01234567 → {new}      2  restart chat
                                        changed: /etc/sparkiac/chat/compose.yaml
                                      write 1 file
                                        /etc/sparkiac/generation.json

unchanged: spark-02
order: spark-01
"""
OTHER: Final = "  asr: {recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8101}\n"
COMMITTED: Final = """echo '{"outcome": "committed", "changed": true}'"""
SSH: Final = """\
#!/bin/sh
# Stands in for ssh: spark-02 is off, and commands for spark-01 run here. What Ansible sends is read to its end: a
# process that closes the pipe and has not ended a millisecond later is reported as a broken pipe, without the reason.
off() { cat >/dev/null; echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255; }
for word in "$@"; do
  case $word in 192.168.1.12) off "$word" ;; esac
  last=$word
done
exec sh -c "$last"
"""


@pytest.fixture
def root(folder: Path, hosts: Path, cli: Cli) -> Path:
    """Run the test in a folder with a generated fleet of two hosts; return the folder of the hosts' answers."""
    fleet.write(folder)
    assert cli("generate", "lab.yaml").code == 0
    return hosts


def logs() -> list[Path]:
    return list(Path(os.environ["TMPDIR"]).rglob("ansible.log"))


def generation(host: str) -> str:
    text = Path(f"generated/lab/host_vars/{host}/hashes.yml").read_text()
    return text.partition('generation: "')[2].partition('"')[0]


def test_it_shows_applies_and_reports(root: Path, cli: Cli) -> None:
    fleet.looks(root, "spark-01", RESTART)
    fleet.answers(root, "spark-01", "services", COMMITTED)
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 0, outcome.text
    assert outcome.out.startswith(TABLE.format(new=generation("spark-01")[:8]))
    assert outcome.out.splitlines()[-1].startswith("Applied to 1 host in ")
    first, *lines = outcome.err.splitlines()
    assert first == "Comparing 2 hosts with generated/lab …"
    assert [line.split()[-2:] for line in lines] == [
        ["spark-01", phase] for phase in ("check", "download", "switch", "gate", "done")
    ]
    assert logs() == []


def test_a_removal_is_shown_with_everything_that_goes_and_stays(root: Path, cli: Cli) -> None:
    """The same lines as `sparkiac diff` of the two inventories."""
    Path("old.yaml").write_text(fleet.INVENTORY + OTHER)
    Path("old.lock.yaml").write_text(Path("lab.lock.yaml").read_text())
    compared = cli("diff", "old.yaml", "lab.yaml", "--format", "json")
    found = {each["host"]: each for each in json.loads(compared.out)["hosts"]}
    answer = {key: found["spark-01"][key] for key in ("differs", "files", "sysctls", "secrets", "units", "effects")}
    fleet.looks(root, "spark-01", SAME | answer)
    outcome = cli("apply", "lab.yaml", "--check", "--", *LOCAL)
    assert outcome.code == 3
    page = " ".join(outcome.out.split())
    shown = cli("diff", "old.yaml", "lab.yaml").out
    told = [*answer["units"], *answer["effects"]]
    assert [each["action"] for each in told] == ["remove", "close", "write", "delete", "keep"]
    for each in told:
        subject = str(each.get("unit", each.get("subject"))).removeprefix("sparkiac-")
        assert f"  spark-01: {each['action']} {subject} ({each['because']})\n" in shown
        assert f"{each['action']} {subject} {each['because']}" in page
    assert "no unit restarts" not in page


def test_nothing_to_do(root: Path, cli: Cli) -> None:
    fleet.answers(root, "spark-01", "preflight", "exit 1")
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert (outcome.code, outcome.out) == (
        0,
        "unchanged: spark-01, spark-02\nNothing to do: the hosts have what generated/lab contains.\n",
    )


def test_check_applies_nothing_and_says_as_data_what_would_change(root: Path, cli: Cli) -> None:
    fleet.looks(root, "spark-02", RESTART | {"missing": ["image example.org/vllm:1 is not on the host"]})
    fleet.answers(root, "spark-01", "preflight", "exit 1")
    outcome = cli("apply", "lab.yaml", "--check", "--format", "json", "--", *LOCAL)
    assert (outcome.code, outcome.err) == (3, "")
    found: dict[str, Any] = json.loads(outcome.out)
    assert (found["name"], found["output"], found["applied"], found["newer"]) == ("lab", "generated/lab", None, {})
    assert found["batches"] == [["spark-02"]]
    same, other = found["hosts"]
    assert (same["host"], same["differs"], same["now"]) == ("spark-01", False, "0123456789abcdef")
    assert (other["now"], other["new"]) == ("0123456789abcdef", generation("spark-02"))
    assert {key: other[key] for key in ("files", "units", "differs")} == {
        key: RESTART[key] for key in ("files", "units", "differs")
    }
    assert other["missing"] == ["image example.org/vllm:1 is not on the host"]


def test_with_json_the_result_is_one_document(root: Path, cli: Cli) -> None:
    fleet.looks(root, "spark-01", RESTART)
    fleet.answers(root, "spark-01", "services", COMMITTED)
    outcome = cli("apply", "lab.yaml", "--yes", "--format", "json", "--", *LOCAL)
    found = json.loads(outcome.out)
    assert (outcome.code, found["applied"]["code"], found["applied"]["outcomes"]) == (0, 0, {"spark-01": "done"})


def test_exit_1_for_errors_in_the_inventory(folder: Path, cli: Cli) -> None:
    refused = service("command: [vllm, serve, x]").replace("example.org/asr", "vllm/vllm-openai")
    (folder / "lab.yaml").write_text(refused)
    outcome = cli("apply", "lab.yaml", "--yes")
    assert outcome.code == 1
    assert "error ENT001" in outcome.err


def test_exit_1_for_a_host_that_went_back(root: Path, cli: Cli) -> None:
    """The other hosts are unchanged, the reason is printed without the user's secret, and the log is kept."""
    for host in ("spark-01", "spark-02"):
        fleet.looks(root, host, RESTART)
    says = "echo '{\"outcome\": \"back\"}'; echo 'chat: answered !!!! with hunter2-key' >&2; exit 1"
    fleet.answers(root, "spark-01", "services", says)
    outcome = cli(
        "apply", "lab.yaml", "--yes", "--", *LOCAL, "-e", "sparkiac_secrets={key: hunter2-key}", "-e", "a=hunter2-key"
    )
    assert outcome.code == 1
    assert "spark-01: chat: answered !!!! with ***\n" in outcome.out
    assert "hunter2" not in outcome.text
    states = dict(re.findall(r"^[\d min]* s  (spark-0\d)  (.*)$", outcome.err, re.MULTILINE))
    assert states == {"spark-01": "FAILED, went back", "spark-02": "unchanged"}
    [log] = logs()
    assert outcome.err.endswith(f"Ansible's output: {log}\n")
    assert "TASK [services : Do it]" in log.read_text()
    assert [path.stat().st_mode & 0o077 for path in (log.parent,)] == [0]


def test_exit_1_for_a_host_that_cannot_be_compared(root: Path, cli: Cli) -> None:
    fleet.answers(root, "spark-02", "look", "echo 'docker: not found' >&2; exit 1")
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 1
    assert outcome.out.endswith("not compared: spark-02: docker: not found\nNothing was changed.\n")


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a confirmation needs a terminal: add --yes"),
        (["--format", "json"], "--format json cannot ask for confirmation: add --yes or --check"),
        (["--yes", "--", "--step"], "sparkiac cannot use --step: run ansible-playbook with it"),
        (["--yes", "--", "--list-ta"], "sparkiac cannot use --list-tags"),
        (
            ["--yes", "--", "-e", "a={b:", "hunter2}"],
            "word 3 after -- is not an option of ansible-playbook; put a value",
        ),
        (["--yes", "--", "-l"], "-l after -- needs a value"),
    ],
)
def test_exit_2_for_wrong_usage(cli: Cli, arguments: list[str], says: str) -> None:
    outcome = cli("apply", "lab.yaml", *arguments)
    assert outcome.code == 2
    assert says in outcome.text
    assert "hunter2" not in outcome.text


@pytest.mark.usefixtures("root")
def test_exit_2_for_options_that_ansible_refuses(cli: Cli) -> None:
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL, "-e", "@none.yml")
    assert outcome.code == 2
    assert "none.yml" in outcome.out.replace("\n", "")
    assert "WARNING" not in outcome.out
    assert cli("apply", "lab.yaml", "--yes", "--", *LOCAL, "--limit", "nobody").code == 2


@pytest.mark.usefixtures("root")
def test_exit_2_without_ansible(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 2
    assert outcome.err.endswith("ansible-playbook is not installed on this machine: pip install ansible-core\n")
    assert logs() == []


def test_exit_3_for_files_that_are_out_of_date(root: Path, cli: Cli) -> None:
    fleet.answers(root, "spark-01", "look", "touch $STUB/asked")
    text = fleet.INVENTORY.replace("port: 8001", "port: 8002")
    Path("lab.yaml").write_text(text)
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 3
    assert "generated/lab is out of date: .sparkiac-manifest.json, PLAN.md, " in outcome.err
    assert outcome.err.endswith("run sparkiac generate lab.yaml, review the changes, then apply again\n")
    assert not (root / "asked").exists()


@pytest.mark.usefixtures("root")
def test_exit_3_for_a_file_that_was_edited(cli: Cli) -> None:
    with Path("generated/lab/site.yml").open("a") as file:
        file.write("# mine\n")
    outcome = cli("apply", "lab.yaml", "--yes", "--format", "json")
    assert outcome.code == 3
    assert "site.yml: edited by hand" in json.loads(outcome.out)["error"]
    assert "sparkiac generate lab.yaml --force discards them" in cli("apply", "lab.yaml", "--yes").err


@pytest.mark.usefixtures("root")
def test_exit_4_for_a_lock_that_is_missing_or_an_example(cli: Cli) -> None:
    lock = Path("lab.lock.yaml")
    text = lock.read_text()
    lock.write_text(text + "example: true\n")
    outcome = cli("apply", "lab.yaml", "--yes")
    assert outcome.code == 4
    assert "error LCK033" in outcome.err
    lock.unlink()
    outcome = cli("apply", "lab.yaml", "--yes")
    assert outcome.code == 4
    assert "lab.lock.yaml does not exist: run sparkiac lock lab.yaml and sparkiac generate lab.yaml" in outcome.err


def test_exit_5_for_a_host_that_another_apply_changes(root: Path, cli: Cli) -> None:
    fleet.looks(root, "spark-01", RESTART | {"lease": LEASE})
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 5
    assert "in use: spark-01: ann@desk, pid 4711 has been applying for 3 min 20 s, step switch " in " ".join(
        outcome.out.split()
    )
    assert outcome.out.endswith("Nothing was changed. Apply again when the other apply has ended.\n")


def test_a_lease_of_a_process_that_has_ended(root: Path, cli: Cli) -> None:
    """That of the same user is taken; that of another one is refused, and the message says how to take it."""
    ended = LEASE | {"ended": True, "step": "gate"}
    fleet.looks(root, "spark-01", RESTART | {"lease": ended})
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 5
    said = "spark-01: ann@desk, pid 4711 has ended in the step gate, 12 s ago"
    assert f"in use: {said}; --take-over takes its lease " in " ".join(outcome.out.split())
    fleet.looks(root, "spark-01", RESTART | {"lease": ended | {"free": True}})
    fleet.answers(root, "spark-01", "services", COMMITTED)
    outcome = cli("apply", "lab.yaml", "--yes", "--take-over", "--", *LOCAL)
    assert outcome.code == 0, outcome.text
    assert f"takes over: {said} " in " ".join(outcome.out.split())


def test_exit_1_for_a_server_that_does_not_work_although_nothing_differs(root: Path, cli: Cli) -> None:
    fault = "sparkiac-chat: /health: HTTP 503"
    fleet.looks(root, "spark-02", SAME | {"faults": [fault]})
    for words in (["--yes"], ["--check"]):
        outcome = cli("apply", "lab.yaml", *words, "--", *LOCAL)
        assert outcome.code == 1
        assert outcome.out == (
            f"unchanged: spark-01, spark-02\ndoes not work: spark-02: {fault}\n"
            "Nothing was changed: the hosts have what generated/lab contains, but a server does not work.\n"
        )
    found = json.loads(cli("apply", "lab.yaml", "--check", "--format", "json", "--", *LOCAL).out)
    assert [host["faults"] for host in found["hosts"]] == [[], [fault]]


def test_exit_6_for_a_host_that_does_not_respond(root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of the generated ansible.cfg are used: pipelining, so that this ssh needs no sftp."""
    fleet.looks(root, "spark-01", RESTART)
    ssh = root / "ssh"
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("ANSIBLE_SSH_EXECUTABLE", str(ssh))
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL[1:])
    assert outcome.code == 6
    assert "unreachable: spark-02: " in outcome.out
    assert "No route to host" in outcome.out
    assert outcome.out.endswith("To apply to the other hosts, add: -- --limit 'all:!spark-02'\n")
    limited = cli("apply", "lab.yaml", "--check", "--", *LOCAL[1:], "--limit", "all:!spark-02")
    assert limited.code == 3, limited.text
    assert "spark-02" not in limited.out


def test_files_of_variables_are_found_from_here(root: Path, cli: Cli) -> None:
    """A relative path in an option is one of the current directory, and a file named with @ goes to both runs."""
    fleet.looks(root, "spark-01", RESTART)
    Path("vars.yml").write_text(f"ansible_connection: local\nansible_python_interpreter: {interpreter()}\n")
    assert cli("apply", "lab.yaml", "--yes", "--", "-e", "@vars.yml").code == 0


def test_in_check_mode_nothing_is_asked_and_the_log_is_kept(root: Path, cli: Cli) -> None:
    """`command` does not run in check mode, and neither does the look of these hosts."""
    fleet.looks(root, "spark-01", RESTART)
    outcome = cli("apply", "lab.yaml", "--", *LOCAL, "--check", "--tags", "all")
    assert outcome.code == 0, outcome.text
    assert outcome.out.splitlines()[-1].startswith("Checked 1 host in ")
    assert outcome.err.endswith(f"Ansible's output: {logs()[0]}\n")


def started(root: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.commands.fleet", str(root), *words]
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_exit_130_when_interrupted_while_it_applies(root: Path) -> None:
    """Ansible ends, too, and what will happen on the hosts is printed."""
    fleet.looks(root, "spark-01", RESTART)
    fleet.answers(root, "spark-01", "services", "echo $$ >$STUB/began; exec sleep 60")
    with started(root, "apply", "lab.yaml", "--yes", "--", *LOCAL) as running:
        limit = time.monotonic() + 300
        while not (root / "began").exists() and time.monotonic() < limit:
            time.sleep(0.1)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=600)
    assert running.returncode == Exit.INTERRUPTED
    assert "A host that was switching ends on the new or the former generation by itself." in out
    assert "Ansible's output: " in err
    assert "Traceback" not in out + err
    assert time.monotonic() - began < 60


def git(*words: str) -> str:
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_exit_3_for_a_tree_that_is_older_than_what_runs(root: Path, cli: Cli) -> None:
    """Without a terminal, only --older goes back; a commit that git does not know is not mentioned."""
    git("init", "--quiet")
    git("add", ".")
    for subject in ("old", "new \x1b[2J"):
        git("commit", "--quiet", "--allow-empty", "-m", subject)
    newest = git("rev-parse", "HEAD")
    fleet.looks(root, "spark-01", RESTART | {"commit": newest})
    assert "newer" not in cli("apply", "lab.yaml", "--check", "--", *LOCAL).out
    git("reset", "--quiet", "--soft", "HEAD~1")
    fleet.answers(root, "spark-01", "services", COMMITTED)
    outcome = cli("apply", "lab.yaml", "--yes", "--", *LOCAL)
    assert outcome.code == 3
    shown, advice = outcome.out.splitlines()[-2:]
    assert re.fullmatch(
        rf"spark-01 runs {newest[:12]} \([\d-]+, new \\x1b\[2J\), which is newer than the tree here", shown
    )
    assert advice == "Nothing was changed. To go back to the older tree, add --older."
    found = json.loads(cli("apply", "lab.yaml", "--check", "--format", "json", "--", *LOCAL).out)
    assert list(found["newer"]) == ["spark-01"]
    assert shown == f"spark-01 runs {found['newer']['spark-01']}, which is newer than the tree here"
    assert cli("apply", "lab.yaml", "--yes", "--older", "--", *LOCAL).code == 0
    fleet.looks(root, "spark-01", RESTART | {"commit": "1" * 40})
    assert "newer" not in cli("apply", "lab.yaml", "--check", "--", *LOCAL).out
