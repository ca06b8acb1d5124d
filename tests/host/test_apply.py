"""Ansible runs all of site.yml on this machine; the hosts run a stand-in for `switch`."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.host import tree
from tests.host.plays import Played, play, started

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKOUT = Path(__file__).parents[2]
LOCAL = {
    "ansible_become": False,
    "sparkiac_root": "{{ playbook_dir | dirname | dirname }}/at/{{ lease_host | default(inventory_hostname) }}",
}
"""The host of a task; `inventory_hostname` is not that to which a renewal is delegated."""
PROBE = "import sys\nif sys.argv[-1] == 'bad': sys.exit('qwen36: expected 7351, got !!!!')\n"
SLOW_FIRST = """{{ [['spark-01'], ['spark-02']]
  if lookup('pipe', 'sleep ' ~ (2 if inventory_hostname == 'spark-01' else 0)) == '' }}"""
"""The teams of two hosts. The first host answers last, but the order is still that of the inventory."""


class Bench(NamedTuple):
    """A tree, and a root directory for each of its hosts."""

    folder: Path

    @property
    def lab(self) -> Path:
        """The generated tree."""
        return self.folder / "lab"

    def hosts(self) -> list[str]:
        """Return its hosts in their order."""
        return sorted(path.name for path in (self.lab / "host_vars").iterdir())

    def at(self, host: str, name: str = "", text: str | None = None) -> str:
        """Read or write a file of a host; a file that is missing reads as empty."""
        path = self.folder / "at" / host / name
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return path.read_text() if path.is_file() else ""

    def apply(self, *words: str, playbook: str = "site.yml", **variables: object) -> Played:
        """Run a playbook of the tree."""
        given = ["-e", json.dumps({**LOCAL, **variables})]
        return play(self.lab, *given, *words, playbook=playbook, inventory="inventory.yml")

    def order(self) -> list[str]:
        """Return the switches so far: host, outcome, units that restart in any case."""
        path = self.folder / "at/order"
        lines = path.read_text().splitlines() if path.is_file() else []
        return [" ".join([line.split()[0], *line.split()[2:]]) for line in lines]

    def asked(self, host: str) -> list[str]:
        """Return the commands that a host was given."""
        return [line.split()[0] for line in self.at(host, "asked").splitlines()]

    def serve(self) -> None:
        """Let each host run the generation of the tree, as after an apply."""
        for host in self.hosts():
            current = tree.hashes(self.lab, host)["generation"]
            state = {"current": current, "committed": current, "previous": self.committed(host)}
            (self.folder / "at" / host / "var/lib/sparkiac/generations" / current / "files").mkdir(parents=True)
            self.at(host, "state.json", json.dumps(state))
        tree.install(self.lab, self.folder / "at", tuple(self.hosts()))

    def generate(self, *hosts: str) -> None:
        """Generate a second version for hosts that run alone."""
        for host in hosts:
            tree.change(self.lab, (host,), "two")

    def committed(self, host: str) -> str | None:
        """Return the committed generation of a host."""
        return json.loads(self.at(host, "state.json") or '{"committed": null}')["committed"]


def make(folder: Path, teams: tuple[tuple[str, ...], ...] = tree.PAIR, **options: Any) -> Bench:  # noqa: ANN401
    """Build a tree and its hosts. Roles that have tests of their own, or would create a user here, are left out."""
    if os.geteuid() != 0:
        pytest.skip("needs root: files get the owner root")
    made = Bench(folder)
    tree.build(made.lab, checkout=CHECKOUT, teams=teams, **options)
    for role in ("host", "images", "extras", "weights"):
        (made.lab / f"playbooks/roles/{role}/tasks/main.yml").write_text("---\n[]\n")
    tree.write_manifest(made.lab)
    for team in teams:
        for name in team:
            made.at(name, "usr/local/lib/sparkiac/probe.py", PROBE)
            if len(team) > 1:
                made.at(name, "group", "")
    return made


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make(tmp_path)


def machine() -> str:
    """Return the name of this machine in the owner of a lease."""
    argv = [sys.executable, CHECKOUT / "playbooks/controller.py", str(os.getpid())]
    owner = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)["owner"]
    return str(owner.partition("[")[2].partition("/")[0])


def committed(tree: Path) -> str:
    """Commit a tree to Git; return the commit."""
    git = ("git", "-C", str(tree), "-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tree / ".git/info/exclude").write_text("home\n")  # of the Ansible of this test
    for words in (("add", "--all"), ("commit", "--quiet", "-m", "one")):
        subprocess.run([*git, *words], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def renewals(bench: Bench, host: str) -> int:
    """Return how often the lease of a host was renewed."""
    return bench.at(host, "asked").count("lease renew --run ")


def processes(bench: Bench, program: bytes = b"") -> list[int]:
    """Return the processes of a program that work on a tree."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            ours = f"STUB={bench.lab}\0".encode() in (path / "environ").read_bytes()
            if ours and program in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def renewing_every_second(bench: Bench) -> None:
    """Do not wait for half a minute."""
    path = bench.lab / "playbooks/roles/lease/action_plugins/renew_leases.py"
    path.write_text(path.read_text().replace("PERIOD_S = 30", "PERIOD_S = 1"))
    tree.write_manifest(bench.lab)


def test_hosts_change_one_after_the_other_and_the_second_run_changes_nothing(bench: Bench) -> None:
    """Leases are renewed in a long task and on a host that waits, by a process that ends with Ansible."""
    renewing_every_second(bench)
    bench.at("spark-01", "slow", "4")
    # A lease of a process that has ended is taken.
    bench.at("spark-01", "lease.json", held(f"root@here, pid 4194999 [{machine()}/4194999-1]"))
    done = bench.apply()
    assert done.code == 0, done.said
    assert "took the lease over from root@here, pid 4194999" in done.sentence
    assert "(run other, step switch, renewed 5 s ago)" in done.sentence
    assert bench.order() == ["spark-01 committed", "spark-02 committed"]
    assert "spark-01: switched to" in done.said
    assert all(renewals(bench, host) >= 2 for host in ("spark-01", "spark-02"))
    wait_for(lambda: not processes(bench))
    assert not list(bench.lab.rglob("__pycache__")), "the tree is as it was generated"
    assert [bench.at(host, "lease.json") for host in ("spark-01", "spark-02")] == ["", ""]
    again = bench.apply()
    assert (again.code, again.changed) == (0, {"spark-01": 0, "spark-02": 0}), again.said
    assert bench.asked("spark-01")[-1] == "look"
    assert "PLAY [Change]" not in again.said or "skipping: no hosts matched" in again.said


def test_the_leases_of_a_killed_controller_are_not_renewed_and_are_taken_at_once(bench: Bench) -> None:
    renewing_every_second(bench)
    bench.at("spark-01", "slow", "600")
    with started(bench.lab, "-e", json.dumps(LOCAL), playbook="site.yml", inventory="inventory.yml") as controller:
        wait_for(lambda: "start" in bench.asked("spark-01") and renewals(bench, "spark-02") > 0)
        controller.kill()
    wait_for(lambda: len(processes(bench, b"ansible-playbook")) <= 1)  # the worker that waits for the switch
    before = renewals(bench, "spark-02")
    assert json.loads(bench.at("spark-02", "lease.json"))["renewals"] == before
    for process in processes(bench):
        os.kill(process, signal.SIGKILL)
    bench.at("spark-01", "slow", "0")
    done = bench.apply("--tags", "switch")
    assert done.code == 0, done.said
    assert f"took the lease over from {pwd.getpwuid(os.getuid()).pw_name}@" in done.sentence
    assert bench.order() == ["spark-01 committed", "spark-02 committed"]


def test_a_dry_run_shows_every_difference_and_changes_nothing(tmp_path: Path) -> None:
    bench = make(tmp_path, (("spark-01",),))
    done = bench.apply("--check", "--diff")
    assert done.code == 0, done.said
    assert "would restart sparkiac-qwen36: changed: /x" in done.said
    assert "ünlaut" in done.said
    assert "/usr/local/lib/sparkiac/host/contract.py, /usr/local/lib/sparkiac/host/durable.py" in done.sentence
    assert set(bench.asked("spark-01")) == {"look"}
    assert not (bench.folder / "at/spark-01/var").exists()


def test_a_group_changes_together_with_one_secret_token_and_learns_the_commit(tmp_path: Path) -> None:
    bench = make(tmp_path, (("spark-01",), ("spark-02", "spark-03")))
    commit = committed(bench.lab)
    # A part of a group is refused before any host is contacted.
    done = bench.apply("--limit", "spark-01,spark-02")
    assert done.code == 2
    assert "--limit leaves out spark-03" in done.sentence
    assert bench.asked("spark-01") == []
    # A host that is no part of it is not.
    assert bench.apply("--limit", "spark-01", "--tags", "check").code == 0
    assert set(bench.asked("spark-01")) == {"look"}
    done = bench.apply("-vvv", sparkiac_secrets={"vllm_api_key": "hunter2hunter2"})
    assert done.code == 0, done.said
    [first] = {*bench.at("spark-02", "tokens").split(), *bench.at("spark-03", "tokens").split()}
    assert first not in done.said
    assert bench.order()[0] == "spark-01 committed"
    assert sorted(bench.order()[1:]) == [f"spark-0{number} committed" for number in (2, 3)], (
        "what restarts, they agree on"
    )
    # Secrets are compared by salted hash.
    assert bench.at("spark-02", "etc/sparkiac/secrets/vllm_api_key") == "hunter2hunter2"
    assert "hunter2" not in done.said.replace('"vllm_api_key": "hunter2hunter2"', "")
    assert [bench.at(host, "commit") for host in bench.hosts()] == [commit] * 3
    # One host differs: the other takes part. The tree is not that of a commit any more.
    (tmp_path / "at/order").unlink()
    (bench.lab / "note").touch()
    bench.at("spark-03", "differs", "")
    assert bench.apply("--limit", "spark-02,spark-03", "--tags", "switch").code == 0
    assert sorted(bench.order()) == [f"spark-0{number} committed" for number in (2, 3)]
    assert [bench.at(host, "commit") for host in bench.hosts()] == [commit, "", ""]


def test_the_host_with_a_model_takes_part_when_one_that_copies_it_differs(tmp_path: Path) -> None:
    """Only then: a difference of its own is none of the others."""
    bench = make(tmp_path)
    place = bench.lab / "host_vars/spark-02/main.yml"
    place.write_text(place.read_text().replace("owners: []", "owners: [spark-01]"))
    tree.write_manifest(bench.lab)
    assert bench.apply().code == 0
    for differs, changed in (("spark-02", ["spark-01", "spark-02"]), ("spark-01", ["spark-01"])):
        (tmp_path / "at/order").unlink()
        bench.at(differs, "differs", "")
        done = bench.apply("--tags", "switch")
        assert done.code == 0, done.said
        assert sorted(line.partition(" ")[0] for line in bench.order()) == changed
        (tmp_path / f"at/{differs}/differs").unlink()


def test_an_edited_tree_is_refused_before_any_host_is_contacted(bench: Bench) -> None:
    with (bench.lab / "hosts/spark-01/etc/sparkiac/preflight.json").open("a") as file:
        file.write("\n")
    (bench.lab / "ansible.cfg").unlink()
    (bench.lab / "playbooks/check_tree.py").chmod(0o755)
    done = bench.apply()
    assert done.code == 2
    assert "ansible.cfg: missing" in done.said
    assert "hosts/spark-01/etc/sparkiac/preflight.json: edited" in done.said
    assert "playbooks/check_tree.py: its mode was changed" in done.said
    assert "sparkiac generate --force" in done.sentence
    assert bench.asked("spark-01") == []


def test_an_interpreter_that_does_not_exist_is_named_before_any_host_is_contacted(bench: Bench) -> None:
    done = bench.apply("-e", "ansible_python_interpreter=/missing/python")
    assert done.code == 2
    assert "Error while" not in done.said
    assert "/missing/python" in done.sentence
    assert bench.asked("spark-01") == []


def held(owner: str) -> str:
    """Return the lease of another run."""
    return json.dumps({"run": "other", "owner": owner, "age_s": 180})


def test_a_lease_of_somebody_else_is_respected_and_named(bench: Bench) -> None:
    bench.at("spark-02", "lease.json", held("ada@desk, pid 7"))
    done = bench.apply()
    assert done.code == 2, done.said
    assert "spark-02: spark-02 is being applied by ada@desk, pid 7, for 3 min" in done.sentence
    assert bench.at("spark-01", "lease.json") == ""
    assert "ada@desk" in bench.at("spark-02", "lease.json")
    assert bench.order() == []


def test_a_host_that_cannot_be_prepared_stops_the_run_and_leases_are_released(bench: Bench) -> None:
    failing = [
        {"name": "Pull", "ansible.builtin.fail": {"msg": "no such image"}, "when": "sparkiac.host == 'spark-02'"}
    ]
    (bench.lab / "playbooks/roles/images/tasks/main.yml").write_text(json.dumps(failing))
    tree.write_manifest(bench.lab)
    done = bench.apply()
    assert done.code == 2
    assert "no such image" in done.said
    assert "Nothing that runs was changed on any host, because spark-02 failed" in done.sentence
    assert bench.order() == []
    assert [bench.at(host, "lease.json") for host in ("spark-01", "spark-02")] == ["", ""]


def test_a_failed_preflight_stops_the_run_before_anything_is_downloaded(bench: Bench) -> None:
    tree.write_host(bench.lab, "spark-02", ("spark-02",), tree.listed(bench.lab / tree.PROGRAMS), architecture="vax")
    tree.write_manifest(bench.lab)
    done = bench.apply()
    assert done.code == 2
    assert "because spark-02 failed" in done.sentence
    assert "wanted vax" in done.sentence
    assert [command for host in ("spark-01", "spark-02") for command in bench.asked(host)].count("stage") == 0
    assert [bench.at(host, "lease.json") for host in ("spark-01", "spark-02")] == ["", ""]


def test_an_unreachable_host_stops_the_run_and_is_named(bench: Bench) -> None:
    words = "{\"ansible_connection\": \"{{ 'ssh' if inventory_hostname == 'spark-02' else 'local' }}\"}"
    done = bench.apply("-e", words, "-e", "ansible_ssh_timeout=1")
    assert done.code in (2, 4), done.said
    assert "spark-02 cannot be reached" in done.sentence
    assert '--limit "all:!spark-02"' in done.sentence
    assert bench.order() == []


def test_a_host_that_drops_out_in_the_preflight_is_the_only_failure(bench: Bench) -> None:
    """It has answered until the leases were taken."""
    words = "{{ 'ssh' if inventory_hostname == 'spark-02' and lease_held is defined else 'local' }}"
    done = bench.apply("-e", json.dumps({"ansible_connection": words, "ansible_ssh_timeout": 1}))
    assert done.code in (2, 4), done.said
    assert "Nothing that runs was changed on any host, because spark-02 failed" in done.sentence
    assert "has no attribute" not in done.said
    assert "spark-01 cannot be changed" not in done.said
    assert bench.at("spark-01", "lease.json") == ""
    assert bench.order() == []


def test_a_service_that_does_not_answer_fails_the_run(bench: Bench) -> None:
    bench.serve()
    bench.generate("spark-02")
    bench.at("spark-02", "usr/local/lib/sparkiac/probe.py", PROBE.replace("'bad'", "'sparkiac-qwen36'"))
    done = bench.apply()
    assert done.code == 2, done.said
    assert bench.order() == ["spark-02 committed"]
    assert "spark-02: qwen36: expected 7351, got !!!!" in done.sentence
    assert bench.at("spark-02", "lease.json") == ""
    bench.at("spark-02", "usr/local/lib/sparkiac/probe.py", PROBE)
    assert bench.apply("--limit", "spark-02", playbook="playbooks/verify.yml").code == 0


def test_a_rollback_needs_a_kept_generation_and_changes_one_host_after_the_other(bench: Bench) -> None:
    bench.serve()
    former = bench.committed("spark-01")
    bench.generate("spark-01", "spark-02")
    bench.serve()
    done = bench.apply(playbook="playbooks/rollback.yml", generation="0123456789abcdef")
    assert done.code == 2
    assert f"and keeps {', '.join(sorted([former or '', bench.committed('spark-01') or '']))}" in done.sentence
    done = bench.apply(playbook="playbooks/rollback.yml", sparkiac_teams=SLOW_FIRST)
    assert done.code == 0, done.said
    assert bench.order() == ["spark-01 committed", "spark-02 committed"]
    assert bench.committed("spark-01") == former
    done = bench.apply("--limit", "spark-02", playbook="playbooks/restart.yml", unit="qwen36")
    assert done.code == 0, done.said
    assert bench.order()[2:] == ["spark-02 committed sparkiac-qwen36"]


def test_small_playbooks(bench: Bench) -> None:
    tree.install(bench.lab, bench.folder / "at", ("spark-01", "spark-02"))
    done = bench.apply("--limit", "spark-01", playbook="playbooks/drain.yml", unit="qwen36")
    assert done.code == 0, done.said
    assert "sparkiac-qwen36: drained in 0 s" in done.said
    assert "drain sparkiac-qwen36" in bench.at("spark-01", "asked")
    assert bench.at("spark-02", "asked") == ""
    assert bench.apply(playbook="playbooks/drift.yml").code == 0
    lines = ["edited: /etc/x", "  --- a", "  +++ b", "  -{{ 1 }}"]
    bench.at("spark-01", "drift", json.dumps({"files": [], "sysctls": [], "units": [], "lines": lines}))
    done = bench.apply(playbook="playbooks/drift.yml")
    assert done.code == 2
    assert "edited: /etc/x" in done.said
    assert "-{{ 1 }}" in done.said
    done = bench.apply("--check", "--limit", "spark-01", playbook="playbooks/uninstall.yml")
    assert done.code == 0, done.said
    assert bench.at("spark-01", "asked").splitlines()[-1] == "uninstall --dry-run"
    assert "would remove" in done.said
    done = bench.apply("--limit", "spark-01", playbook="playbooks/uninstall.yml")
    assert done.code == 2
    assert "Nothing was removed, because it was not confirmed" in done.sentence
    assert bench.at("spark-01", "asked").splitlines()[-1] == "uninstall --dry-run"
    done = bench.apply("--limit", "spark-01", playbook="playbooks/uninstall.yml", confirm="yes")
    assert done.code == 0, done.said
    assert bench.at("spark-01", "asked").splitlines()[-1] == "uninstall"
    done = bench.apply("--check", playbook="playbooks/reboot.yml")
    assert done.code == 0, done.said
    assert "would stop sparkiac-qwen36 and reboot" in done.said


DPKG = """\
#!/bin/sh
printf 'nvidia-driver-580-open 580.95.05-0ubuntu1 installed\\nnvidia-prime 0.8 installed\\n'
"""
HOLD = """\
#!/bin/sh
case $1 in
  showhold) cat "$STUB/held" 2>/dev/null || : ;;
  hold) shift; printf '%s\\n' "$@" >>"$STUB/held" ;;
  unhold) : >"$STUB/held" ;;
esac
"""


def test_driver_packages_are_held_and_a_bad_driver_is_refused(bench: Bench) -> None:
    (bench.lab / "bin").mkdir()
    for name, text in (("dpkg-query", DPKG), ("apt-mark", HOLD)):
        (bench.lab / "bin" / name).write_text(text)
        (bench.lab / "bin" / name).chmod(0o755)
    doubts = [{"series": "590", "why": "it hangs"}]
    shared = tree.listed(bench.lab / tree.PROGRAMS)
    tree.write_host(bench.lab, "spark-01", ("spark-01",), shared, driver="580", doubted_drivers=doubts)
    done = bench.apply("--limit", "spark-01", playbook="playbooks/driver.yml")
    assert (done.code, done.changed) == (0, {"spark-01": 1}), done.said
    assert "nvidia-driver-580-open 580.95.05-0ubuntu1 installed" in done.said
    assert (bench.lab / "held").read_text() == "nvidia-driver-580-open\n"
    assert bench.apply("--limit", "spark-01", playbook="playbooks/driver.yml").changed == {"spark-01": 0}
    for changed in (1, 0):
        done = bench.apply("--limit", "spark-01", playbook="playbooks/driver.yml", driver_pinned="yes")
        assert (done.code, done.changed) == (0, {"spark-01": changed}), done.said
        assert not (bench.lab / "held").read_text()
    done = bench.apply("--limit", "spark-01", playbook="playbooks/driver.yml", driver_pinned="yes", upgrade_to="580.95")
    assert "is not installed on spark-01: the lock pins it, so edit the pins and run sparkiac os." in done.sentence
    done = bench.apply("--limit", "spark-01", playbook="playbooks/driver.yml", upgrade_to="590.44")
    assert done.code == 2
    assert "Driver 590.44 is not installed on spark-01: the inventory requires 580; it hangs." in done.sentence


def test_gateways_read_new_keys_before_any_host_changes(bench: Bench) -> None:
    play = "- ansible.builtin.import_playbook: playbooks/{}.yml\n"
    (bench.lab / "site.yml").write_text("---\n" + "".join(map(play.format, ("deploy", "keys", "change"))))
    tree.write_manifest(bench.lab)
    (bench.lab / "bin").mkdir()
    (bench.lab / "bin/systemctl").write_text('#!/bin/sh\necho "$2 - $1" >>"$STUB/../at/order"\n')
    (bench.lab / "bin/systemctl").chmod(0o755)
    bench.at("spark-02", "reloads", "")
    assert bench.apply("--check").code == 0
    assert bench.order() == []
    done = bench.apply()
    assert done.code == 0, done.said
    assert bench.order() == ["sparkiac-qwen36.service reload", "spark-01 committed", "spark-02 committed"]


SYSTEMCTL = """\
#!/bin/sh
# No unit exists.
for word; do
  case $word in
    *.service) printf 'LoadState=not-found\\nActiveState=inactive\\nSubState=dead\\nUnitFileState=\\n' &&
      printf 'InvocationID=\\nDropInPaths=\\nNeedDaemonReload=no\\n\\n' ;;
  esac
done
"""


def test_the_real_program_arrives_as_a_bundle_and_stages_with_a_tag_that_runs_this_part_alone(tmp_path: Path) -> None:
    """It reads what the playbooks send, and computes the same name of the generation.

    The part `check` runs alone in the test of a group, `switch` in that of a killed controller.
    """
    bench = make(tmp_path, (("spark-01",),), real=True)
    (bench.lab / "bin").mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("docker", "#!/bin/sh\nexit 1\n")):
        (bench.lab / "bin" / name).write_text(text)
        (bench.lab / "bin" / name).chmod(0o755)
    done = bench.apply("--tags", "stage")
    assert done.code == 0, done.said
    [generation] = (bench.folder / "at/spark-01/var/lib/sparkiac/generations").iterdir()
    text = (bench.lab / "hosts/spark-01/etc/sparkiac/qwen36/compose.yaml").read_text()
    assert (generation / "files/etc/sparkiac/qwen36/compose.yaml").read_text() == text
    assert tree.hashes(bench.lab, "spark-01")["generation"] == generation.name
    assert "Send requests to the services" not in done.said
    assert bench.at("spark-01", "var/lib/sparkiac/state.json") == ""
    assert bench.at("spark-01", "run/sparkiac/lease.json") == ""
    done = bench.apply("--check", "--tags", "switch")
    assert done.code == 0, done.said
    assert "would start sparkiac-qwen36: new on this host" in done.said
    assert "would open 0.0.0.0:8001: port of sparkiac-qwen36" in done.said
