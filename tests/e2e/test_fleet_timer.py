"""The fleet timer on real hosts: one message when a server stops, one when it runs again."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import KEY, Lab

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

WATCHED, WATCHER = "spark-01", "spark-02"
TIMER, SERVICE = "sparkiac-fleet.timer", "sparkiac-fleet.service"
MONITORING = """
monitoring:
  timer: {hosts: spark-02, every_min: 15}
  alerts: {webhook: {url: "http://127.0.0.1:9009/hook"}}
  external: [{name: registry, url: "http://10.77.0.1:5000/v2/"}]
"""
RECEIVER = """\
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open("/run/received", "ab").write(body + bytes([10]))
        self.send_response(200)
        self.end_headers()
HTTPServer(("127.0.0.1", 9009), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab with a fleet timer, applied, and with a receiver of messages on the timer's host."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    found.inventory.write_text(found.inventory.read_text() + MONITORING)
    found.generate()
    found.stage()
    receive = shlex.join(["systemd-run", "--quiet", "--unit=receiver", "python3", "-c", RECEIVER])
    bed.ssh(WATCHER, f"touch /run/received; {receive}", root=True)
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def show(lab: Lab, unit: str, name: str) -> str:
    """Return a property of a unit on the host of the timer."""
    return lab.bed.ssh(WATCHER, f"systemctl show --property={name} --value {unit}", root=True).stdout.strip()


def check(lab: Lab) -> None:
    """Run the service once more, as the timer does."""
    lab.bed.ssh(WATCHER, f"systemctl start {SERVICE}", root=True)


def received(lab: Lab) -> list[dict[str, Any]]:
    """Return the messages that arrived."""
    return [json.loads(line) for line in lab.bed.ssh(WATCHER, "cat /run/received", root=True).stdout.splitlines()]


def test_the_timer_runs_the_check_and_sends_nothing_while_all_works(lab: Lab) -> None:
    assert (show(lab, TIMER, "ActiveState"), show(lab, TIMER, "UnitFileState")) == ("active", "enabled")
    wait_for(
        lambda: show(lab, SERVICE, "ExecMainExitTimestampMonotonic") not in {"", "0"}, "the first check", timeout=300
    )
    assert show(lab, SERVICE, "Result") == "success"
    check(lab)
    assert received(lab) == []
    state = json.loads(lab.bed.ssh(WATCHER, "cat /var/lib/sparkiac-fleet/state.json", root=True).stdout)
    assert state["run"] >= 2
    assert {name: record["observed"] for name, record in state["records"].items()} == dict.fromkeys(
        ["gemma4 on spark-02", "qwen36 on spark-01", "registry", "state of the fleet timer"], "working"
    )


def test_a_server_that_stops_is_one_message_and_one_that_starts_another(lab: Lab) -> None:
    lab.bed.ssh(WATCHED, "systemctl stop sparkiac-qwen36", root=True)
    check(lab)
    check(lab)
    [message] = received(lab)
    [alert] = message["alerts"]
    assert (message["status"], alert["labels"]["endpoint"]) == ("firing", "qwen36 on spark-01")
    assert "Connection refused" in alert["annotations"]["description"]
    lab.bed.ssh(WATCHED, "systemctl start sparkiac-qwen36", root=True)
    check(lab)
    check(lab)
    [_, message] = received(lab)
    assert message["status"] == "resolved"
    assert "WORKING AGAIN: qwen36 on spark-01" in message["commonAnnotations"]["summary"]


def test_a_model_that_answers_garbage_behind_a_live_health_is_found(lab: Lab) -> None:
    header = f"Authorization: Bearer {KEY}"
    for behaviour in ("garbage", "ok"):
        url = f"http://{lab.bed.hosts[WATCHED].address}:8001/standin"
        body = json.dumps({"behaviour": behaviour})
        lab.bed.run(["curl", "-sf", "-H", header, "-H", "Content-Type: application/json", "-d", body, url])
        check(lab)
    found = [each["alerts"][0]["annotations"] for each in received(lab)[2:]]
    assert [each["state"] for each in found] == ["failing", "working"]
    assert "one token repeated" in found[0]["description"]


def test_the_key_is_in_no_file_no_journal_and_no_message(lab: Lab) -> None:
    seen = lab.bed.ssh(
        WATCHER,
        f"grep -rlc {KEY} /var/lib/private/sparkiac-fleet /run/received /etc/sparkiac/fleet.json | wc -l; "
        f"journalctl --unit={SERVICE} | grep -c {KEY}; systemctl show {SERVICE} | grep -c {KEY}",
        root=True,
        check=False,
    )
    assert seen.stdout.split() == ["0", "0", "0"]


def test_a_second_apply_changes_nothing_and_another_period_is_used_without_a_restart(lab: Lab) -> None:
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output
    before = show(lab, TIMER, "InvocationID")
    lab.edit("every_min: 15", "every_min: 30")
    lab.generate()
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert "OnUnitActiveUSec=30min" in show(lab, TIMER, "TimersMonotonic")
    assert show(lab, TIMER, "InvocationID") == before
    assert show(lab, TIMER, "NextElapseUSecMonotonic") not in {"", "infinity"}


def test_an_uninstall_leaves_nothing_of_it(lab: Lab) -> None:
    done = lab.bed.ssh(WATCHER, "/usr/local/lib/sparkiac/switch uninstall", root=True)
    found = json.loads(done.stdout)
    assert {f"unit {TIMER}", f"unit {SERVICE}", "/var/lib/private/sparkiac-fleet"} <= set(found["removed"])
    assert [each for each in found["kept"] if "fleet" in each["path"]] == []
    left = "find /etc /run /var/lib /usr/local -name '*sparkiac-fleet*' -o -name 'fleet_*'"
    assert lab.bed.ssh(WATCHER, left, root=True).stdout == ""
    assert show(lab, TIMER, "LoadState") == "not-found"
