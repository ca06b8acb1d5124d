"""`sparkiac os` with the shipped playbook and the real Ansible, on hosts that are folders.

The program `kernel` is a stand-in that answers from files: nothing reboots. tests/host/test_kernel.py tests the
program, and tests/e2e/test_os.py both on booted hosts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.commands.test_verbs import asked, at, local
from tests.host.probed import Service
from tests.plan.fleets import PAIR
from tests.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.commands.test_verbs import Cli

__all__ = ["at"]  # a fixture
KERNEL: Final = """#!/bin/sh
# Stand-in for `kernel --root ROOT COMMAND`.
echo "$3" >>"$2/asked"
[ "$3" != look ] || { cat >/dev/null; cat "$2/look.json"; exit; }
[ "$3" != begin ] || { cat >"$2/wanted.json"; echo "$(basename "$2")" >>"$2/../tried"; cat "$2/begin.json"; exit; }
[ "$3" != back ] || { echo '{"reboot": false}'; exit; }
[ "$3" != wait ] || { cat "$2/wait.json"; exit; }
echo '{}'
"""
PROBE: Final = """import pathlib, sys
root = pathlib.Path(__file__).parents[4]
sys.exit((root / "dead").exists())
"""
PINS: Final = """
hosts:
  sets:
    b:
      kernel: 6.17.0-1032-nvidia
      packages: {linux-image-6.17.0-1032-nvidia: 6.17.0-1032.32}
      since: "2026-09-01"
      review_by: "2026-10-01"
  members: {spark-01: b, spark-02: b}
"""


LOOK: Final = {"changes": True, "lines": ["try kernel new instead of old"], "refused": []}


def trial(phase: str, why: str = "") -> dict[str, Any]:
    """Return what a host says of a trial that has ended."""
    return {"running": "x", "proven": True, "trial": {"phase": phase, "why": why}, "packages": None}


@pytest.fixture
def pinned(at: Path, cli: Cli) -> Path:
    """Let both hosts have another kernel than the pinned one, and the second one be the canary."""
    folder = at.parent
    lock = folder / "lab.lock.yaml"
    lock.write_text(lock.read_text() + PINS)
    with (folder / "lab.yaml").open("a") as file:
        file.write("rollout: {canary: spark-02}\n")
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 0, outcome.text
    for host in ("spark-01", "spark-02"):
        programs = at / host / "usr/local/lib/sparkiac"
        (programs / "kernel").write_text(KERNEL)
        (programs / "kernel").chmod(0o755)
        (programs / "probe.py").write_text(PROBE)
        answer(at, host, "look", {**LOOK, "hangs": True})
        answer(at, host, "begin", {"of": "trial", "phase": None, "reboot": False, "again": False})
        answer(at, host, "wait", trial("good"))
    return at


def answer(at: Path, host: str, command: str, found: dict[str, Any]) -> None:
    """Let the program of a host answer so."""
    (at / host / f"{command}.json").write_text(json.dumps(found))


def tried(at: Path) -> list[str]:
    """Return the hosts that tried the kernel, in their order."""
    path = at / "tried"
    return path.read_text().split() if path.exists() else []


def test_hosts_change_one_after_the_other_and_the_canary_first(pinned: Path, cli: Cli) -> None:
    shown = cli("os", "lab.yaml", "--check", *local(pinned))
    assert shown.code == 0, shown.text
    assert shown.out.startswith("spark-01, spark-02\n  would try kernel new instead of old\n")
    assert "would leave nobody who serves example/model: no other host does" not in shown.out
    assert "would need somebody at the machine if the kernel hangs" in shown.out
    assert tried(pinned) == []
    outcome = cli("os", "lab.yaml", "--yes", "--despite", "GpuHot", *local(pinned))
    assert outcome.code == 0, outcome.text
    assert tried(pinned) == ["spark-02", "spark-01"]
    wanted = json.loads((pinned / "spark-02/wanted.json").read_text())
    pins = {"packages": {"linux-image-6.17.0-1032-nvidia": "6.17.0-1032.32"}, "pins": "b"}
    assert wanted == {**pins, "despite": ["GpuHot"], "parameters": []}
    assert not any((pinned / host / "lease.json").exists() for host in ("spark-01", "spark-02"))


def test_a_host_that_goes_back_ends_the_run(pinned: Path, cli: Cli) -> None:
    answer(pinned, "spark-02", "wait", trial("failed", "sparkiac-small answers with 9.0 tokens/s, before it was 40.0"))
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert outcome.code == 1, outcome.text
    assert tried(pinned) == ["spark-02"]
    assert "sparkiac-small answers with 9.0 tokens/s" in outcome.text
    assert "spark-02: went back to what it ran before; see above" in outcome.text
    assert "spark-01: not changed" in outcome.text


def test_a_host_without_a_way_back_changes_nothing_anywhere(pinned: Path, cli: Cli) -> None:
    refused = {"changes": True, "lines": [], "refused": ["/boot has 3 MiB free", "no entry"]}
    answer(pinned, "spark-01", "look", refused)
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert outcome.code == 1, outcome.text
    assert "Nothing was changed on any host. spark-01: /boot has 3 MiB free; no entry." in " ".join(
        outcome.text.split()
    )
    assert tried(pinned) == []


def test_the_last_host_that_serves_a_name_stays_as_it_is(pinned: Path, cli: Cli) -> None:
    (pinned / "spark-01/dead").touch()
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert outcome.code == 1, outcome.text
    assert "spark-02: not changed, because no other host answers that serves the same" in " ".join(outcome.text.split())
    assert tried(pinned) == []


def test_hosts_that_run_the_pinned_kernel_have_nothing_to_do(pinned: Path, cli: Cli) -> None:
    for host in ("spark-01", "spark-02"):
        answer(pinned, host, "look", {"changes": False, "lines": []})
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert (outcome.code, "Nothing to do." in outcome.out) == (0, True), outcome.text


@pytest.fixture
def pair(pinned: Path, cli: Cli) -> Path:
    """Let both hosts be the nodes of a group."""
    (pinned.parent / "lab.yaml").write_text(PAIR.replace("name: pair", "name: lab"))
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 0, outcome.text
    return pinned


def test_the_nodes_of_a_group_keep_the_kernel_when_all_have_passed(pair: Path, cli: Cli) -> None:
    for host in ("spark-01", "spark-02"):
        answer(pair, host, "wait", trial("passed"))
    outcome = cli("os", "lab.yaml", "--yes", *local(pair))
    assert outcome.code == 0, outcome.text
    assert tried(pair) == ["spark-01", "spark-02"]
    assert [asked(pair, host).count("accept") for host in ("spark-01", "spark-02")] == [1, 1]


def test_the_second_node_of_a_group_is_not_tried_if_the_first_goes_back(pair: Path, cli: Cli) -> None:
    answer(pair, "spark-01", "wait", trial("failed", "a reason"))
    outcome = cli("os", "lab.yaml", "--yes", *local(pair))
    assert outcome.code == 1, outcome.text
    assert tried(pair) == ["spark-01"]
    assert "accept" not in asked(pair, "spark-01")


def test_nothing_changes_while_an_alert_fires_that_nobody_named(pinned: Path, cli: Cli) -> None:
    """Prometheus is a stand-in with two alerts, at an address that the test gives."""
    alerts = [
        {"state": "firing", "labels": {"alertname": "GpuHot"}},
        {"state": "pending", "labels": {"alertname": "X"}},
    ]
    with serving(Service()) as prometheus:
        prometheus.answers["/api/v1/alerts"] = (200, {"data": {"alerts": alerts}})
        where = json.dumps({"os_prometheus": [[{"host": "spark-01"}, {"promise": {"url": prometheus.url}}]]})
        outcome = cli("os", "lab.yaml", "--yes", *local(pinned, "-e", where))
        assert outcome.code == 1
        assert "because these alerts fire: GpuHot." in " ".join(outcome.text.split()), outcome.text
        assert tried(pinned) == []
        outcome = cli("os", "lab.yaml", "--yes", "--despite", "GpuHot", *local(pinned, "-e", where))
        assert outcome.code == 0, outcome.text
        assert tried(pinned) == ["spark-02", "spark-01"]


def of_packages(at: Path, host: str, phase: str, why: str = "") -> None:
    """Let a host say that it changes packages, and how that ended; it stops its units and reboots by itself."""
    answer(at, host, "begin", {"of": "packages", "phase": "changing", "reboot": False, "again": False})
    answer(at, host, "wait", {**trial("good"), "packages": {"phase": phase, "why": why}})


def test_packages_follow_the_kernel_in_the_same_run(pinned: Path, cli: Cli) -> None:
    """The first step says that another one follows."""
    for host in ("spark-01", "spark-02"):
        answer(pinned, host, "begin", {"of": "trial", "phase": None, "reboot": False, "again": True})
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert outcome.code == 0, outcome.text
    assert [asked(pinned, host).count("begin") for host in ("spark-01", "spark-02")] == [3, 3], "a run has three steps"


def test_packages_that_go_back_end_the_run(pinned: Path, cli: Cli) -> None:
    for host in ("spark-01", "spark-02"):
        of_packages(pinned, host, "good")
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert outcome.code == 0, outcome.text
    assert tried(pinned) == ["spark-02", "spark-01"]
    assert asked(pinned, "spark-02").count("begin") == 1
    of_packages(pinned, "spark-02", "failed", "sparkiac-small answers with 9.0 tokens/s, before it was 40.0")
    outcome = cli("os", "lab.yaml", "--yes", *local(pinned))
    assert outcome.code == 1, outcome.text
    assert "sparkiac-small answers with 9.0 tokens/s" in outcome.text
    assert "spark-01: not changed" in outcome.text


def test_the_nodes_of_a_group_keep_packages_together_or_go_back_together(pair: Path, cli: Cli) -> None:
    for host in ("spark-01", "spark-02"):
        of_packages(pair, host, "passed")
    outcome = cli("os", "lab.yaml", "--yes", *local(pair))
    assert outcome.code == 0, outcome.text
    assert [asked(pair, host).count("accept") for host in ("spark-01", "spark-02")] == [1, 1]
    of_packages(pair, "spark-02", "failed", "a reason")
    outcome = cli("os", "lab.yaml", "--yes", *local(pair))
    assert outcome.code == 1, outcome.text
    assert [asked(pair, host).count("back") for host in ("spark-01", "spark-02")] == [1, 0]
