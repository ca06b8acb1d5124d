"""Generate, apply over SSH, change, break and reboot two booted hosts. Each test needs the ones before it."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.e2e.faults import (
    IMAGE,
    NEW_VERSION,
    SERVED,
    UNITS,
    change,
    check_two_applies,
    failing,
    goes_back,
    pin,
    state,
)
from tests.e2e.lab import KEY, Lab
from tests.e2e.polls import Polls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.bed import Bed

STATE = "/tmp/sparkiac-probe.json"  # noqa: S108 - inside the container
"""What the health check remembers."""


LOOK_OUT = """
import glob, json, socket
found = {"models": glob.glob("/root/.cache/huggingface/hub/*")}
def reached(name, address, port):
    try:
        socket.create_connection((address, port), timeout=3).close()
        found[name] = "yes"
    except OSError:
        found[name] = "no"
reached("registry", "10.77.0.1", 5000)
reached("hosts", "10.77.0.11", 22)
reached("a name", "example.org", 80)
print(json.dumps(found))
"""
"""What a program in a container sees of the store and reaches."""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab for the bed, generated and with its model store filled."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    found.generate()
    found.stage()
    return found


def container(bed: Bed, host: str) -> str:
    return bed.ssh(host, f"docker ps -q --no-trunc --filter name={UNITS[host]}-server", root=True).stdout.strip()


def active(bed: Bed, host: str) -> bool:
    return bed.ssh(host, f"systemctl is-active {UNITS[host]}", check=False).stdout.strip() == "active"


def test_wrong_driver_stops_the_play_before_anything_changed(lab: Lab) -> None:
    lab.bed.set_driver("spark-02", "590.44")
    recap = lab.apply()
    lab.bed.set_driver("spark-02", "580.142")
    assert recap.code != 0
    assert "590.44" in recap.output
    assert "580.142" in recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output
    for host in lab.bed.hosts:
        left = lab.bed.ssh(host, "ls -d /etc/sparkiac /usr/local/lib/sparkiac 2>/dev/null; id sparkiac", check=False)
        assert left.stdout == ""


def test_first_apply_brings_both_models_up(lab: Lab) -> None:
    recap = lab.apply()
    assert recap.code == 0, recap.output
    for host in UNITS:
        assert active(lab.bed, host)
        assert lab.served(host) == [SERVED[host]]
        assert lab.get(host, "/v1/models", key=None)[0] == 401
    assert KEY not in recap.output


def test_command_in_the_container_is_the_planned_one(lab: Lab) -> None:
    _, qwen = lab.get("spark-01", "/standin")
    assert '--speculative-config={"method":"mtp","num_speculative_tokens":2}' in qwen["argv"]
    assert "--max-model-len=131072" in qwen["argv"]
    _, gemma = lab.get("spark-02", "/standin")
    assert gemma["argv"][:2] == ["serve", SERVED["spark-02"]]


def test_kernel_settings_are_read_back(lab: Lab) -> None:
    for host in lab.bed.hosts:
        values = lab.bed.ssh(host, "cat /proc/sys/vm/swappiness /proc/sys/net/core/rmem_max").stdout.split()
        assert values == ["1", "268435456"]


def test_container_is_confined_and_keeps_its_key_to_itself(lab: Lab) -> None:
    for host in lab.bed.hosts:
        found = json.loads(lab.bed.ssh(host, f"docker inspect {container(lab.bed, host)}", root=True).stdout)[0]
        assert found["HostConfig"]["CapDrop"] == ["ALL"]
        assert found["HostConfig"]["ReadonlyRootfs"] is True
        assert found["HostConfig"]["RestartPolicy"]["Name"] == "no"
        assert "@sha256:" in found["Config"]["Image"]
        assert KEY not in json.dumps(found)
        seen = lab.bed.ssh(
            host, f"cat /proc/*/cmdline | tr '\\0' ' ' | grep -c [{KEY[0]}]{KEY[1:]}", root=True, check=False
        )
        assert seen.stdout.strip() == "0"
        assert KEY not in lab.bed.ssh(host, f"journalctl -u {UNITS[host]}", root=True).stdout
        mode = lab.bed.ssh(host, "stat -c '%a %U' /etc/sparkiac/secrets/vllm_api_key", root=True).stdout.strip()
        assert mode == "600 root"


def test_the_key_is_in_no_output(lab: Lab) -> None:
    """It is in no file of the tree, no journal, no log, no metric and on no page."""
    texts = {path: path.read_text(errors="replace") for path in lab.tree.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if KEY in text] == []
    for host in lab.bed.hosts:
        logs = f"journalctl --no-pager; docker logs {container(lab.bed, host)} 2>&1; dmesg"
        metrics = "cat /var/lib/sparkiac/metrics/* /run/sparkiac/*.json"
        started = "cat /run/sparkiac/started/* /var/lib/sparkiac/*.json"
        for command in (logs, metrics, started):
            assert KEY not in lab.bed.ssh(host, command, root=True, check=False).stdout, command
        assert KEY not in str(lab.get(host, "/metrics"))
    for words in ("audit", "plan", "status", "clients"):
        done = lab.sparkiac(words, "inventories/lab.yaml")
        assert done.stdout, done.stderr
        assert KEY not in done.stdout + done.stderr, words


def test_secrets_are_encrypted_with_the_key_of_their_host(lab: Lab) -> None:
    sealed = "/etc/sparkiac/secrets.encrypted/vllm_api_key"
    for host in lab.bed.hosts:
        found = lab.bed.ssh(host, f"grep -rlF {KEY} /etc /var/lib /root /home /tmp", root=True, check=False)
        assert found.stdout == "", "the disk has the plain key"
    decrypt = "systemd-creds decrypt --name=vllm_api_key"
    assert lab.bed.ssh("spark-01", f"{decrypt} {sealed} -", root=True).stdout == KEY
    copied = lab.bed.ssh("spark-01", f"base64 -w0 {sealed}", root=True).stdout
    command = f"echo {copied} | base64 -d | {decrypt} - -"
    other = lab.bed.ssh("spark-02", command, root=True, check=False)
    assert other.returncode != 0
    assert KEY not in other.stdout + other.stderr


def test_a_confined_container_sees_its_own_model_and_connects_to_nothing(lab: Lab) -> None:
    """It is still asked for its health and by clients, as the tests before and after this one show."""
    for host in lab.bed.hosts:
        inside = f"docker exec {container(lab.bed, host)} python3 -c {shlex.quote(LOOK_OUT)}"
        found = json.loads(lab.bed.ssh(host, inside, root=True).stdout)
        mounted = lab.bed.ssh(host, f"docker inspect {container(lab.bed, host)}", root=True).stdout
        models = [each["Destination"] for each in json.loads(mounted)[0]["Mounts"] if "/hub/" in each["Destination"]]
        assert sorted(found.pop("models")) == sorted(models) != []
        assert found == {"registry": "no", "hosts": "no", "a name": "no"}
        registry = "timeout 60 bash -c '</dev/tcp/10.77.0.1/5000'"
        assert lab.bed.ssh(host, registry, check=False).returncode == 0, "the host reaches it"


def test_second_apply_changes_nothing(lab: Lab) -> None:
    """Also if the files of a host are dated tomorrow."""
    before = {host: container(lab.bed, host) for host in UNITS}
    lab.bed.ssh("spark-02", "touch -d tomorrow /etc/sparkiac/gemma4/* /etc/systemd/system/sparkiac-*", root=True)
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output
    assert {host: container(lab.bed, host) for host in UNITS} == before


def test_check_on_converged_hosts_is_clean(lab: Lab) -> None:
    recap = lab.apply("--check", "--diff")
    assert recap.code == 0, recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output
    assert "+++" not in recap.output


def test_check_names_just_what_would_change(lab: Lab) -> None:
    before = {host: container(lab.bed, host) for host in UNITS}
    recipe = "    recipe: google/gemma-4-26b-a4b-it-fp8"
    lab.edit(recipe, f"{recipe}\n    set: {{max_model_len: 32768}}")
    printed = lab.generate()
    assert "~ generated/lab/hosts/spark-02/etc/sparkiac/gemma4/compose.yaml" in printed
    assert "spark-01" not in printed
    recap = lab.apply("--check", "--diff")
    assert recap.code == 0, recap.output
    assert recap.changed["spark-01"] == 0
    assert recap.changed["spark-02"] > 0
    assert "--max-model-len=32768" in recap.output
    assert {host: container(lab.bed, host) for host in UNITS} == before


def test_sparkiac_apply_shows_a_change_and_restarts_only_what_changed(lab: Lab) -> None:
    before = {host: container(lab.bed, host) for host in UNITS}
    recap = lab.sparkiac_apply("--yes")
    assert recap.code == 0, recap.output
    assert "restart gemma4" in recap.output
    assert container(lab.bed, "spark-01") == before["spark-01"]
    assert container(lab.bed, "spark-02") != before["spark-02"]
    _, gemma = lab.get("spark-02", "/standin")
    assert "--max-model-len=32768" in gemma["argv"]
    assert KEY not in recap.output


def test_rollback_needs_no_registry(lab: Lab) -> None:
    """It undoes the change before."""
    lab.edit("\n    set: {max_model_len: 32768}", "")
    lab.generate()
    files = {host: lab.tree / f"host_vars/{host}/hashes.yml" for host in UNITS}
    wanted = {host: yaml.safe_load(path.read_text())["sparkiac_hashes"] for host, path in files.items()}
    assert state(lab)["spark-02"] != wanted["spark-02"]["generation"]
    with lab.bed.without_registry():
        recap = lab.apply("--limit", "spark-02", playbook="playbooks/rollback.yml")
    assert recap.code == 0, recap.output
    assert state(lab) == {host: each["generation"] for host, each in wanted.items()}
    assert lab.served("spark-02") == [SERVED["spark-02"]]


def test_an_apply_asks_the_servers_although_nothing_differs(lab: Lab) -> None:
    """`sparkiac apply` asks for their health, a playbook also for an answer, although no health check is due."""
    behave(lab.bed, "spark-02", "unhealthy")
    recap = lab.sparkiac_apply("--yes")
    behave(lab.bed, "spark-02", "ok")
    assert recap.code == 1, recap.output
    assert "does not work: spark-02: sparkiac-gemma4: /health: HTTP 503" in recap.output
    set_last_answer(lab.bed, "spark-01", 0)
    behave(lab.bed, "spark-01", "garbage")
    recap = lab.apply()
    behave(lab.bed, "spark-01", "ok")
    assert recap.code != 0
    assert "/v1/chat/completions: one token repeated: " in " ".join(recap.output.split())


def behave(bed: Bed, host: str, behaviour: str, url: str | None = None) -> None:
    """Set the behaviour of a host's model server; root reaches it also while its port is closed."""
    place = f"{url or f'http://{bed.hosts[host].address}:8001'}/standin"
    send = f"urllib.request.urlopen({place!r}, {json.dumps({'behaviour': behaviour}).encode()!r}, 60)"
    bed.ssh(host, shlex.join(["python3", "-c", f"import urllib.request; {send}"]), root=True)


def set_last_answer(bed: Bed, host: str, seconds_ago: float) -> None:
    """Set the age of the last good answer; after 300 s the health check requests another one."""
    change = (
        "import json, pathlib, time\n"
        f"path, answered = pathlib.Path({STATE!r}), time.monotonic() - {seconds_ago}\n"
        "state = json.loads(path.read_text())\n"
        "assert state['answered'] is not None\n"
        "path.write_text(json.dumps({**state, 'answered': answered}))\n"
    )
    bed.ssh(host, f"docker exec {container(bed, host)} python3 -c {shlex.quote(change)}", root=True)


def wait_for_another(lab: Lab, host: str, before: str) -> None:
    """Wait until another container than before serves on a host."""
    another = f"docker ps -q --no-trunc --filter name={UNITS[host]}-server | grep -qv {before}"
    lab.bed.wait_until(host, another, timeout=1800)
    lab.bed.wait_until(host, f"systemctl --quiet is-active {UNITS[host]}")
    assert lab.served(host) == [SERVED[host]]


def restart_both(lab: Lab, stop_s: int) -> None:
    """Change one line of both units, so that the next apply restarts both."""
    text = re.sub(r"\n    timeouts: .*", "", lab.inventory.read_text())
    lab.inventory.write_text(re.sub(r"(\n    recipe: .*)", rf"\1\n    timeouts: {{stop_s: {stop_s}}}", text))
    lab.generate()


@pytest.mark.deep
def test_hosts_restart_one_after_the_other(lab: Lab) -> None:
    """Both are polled five times a second: at no moment are both of them down."""
    before = {host: container(lab.bed, host) for host in UNITS}
    restart_both(lab, 121)
    with Polls(lab.bed) as polls:
        recap = lab.apply()
    assert recap.code == 0, recap.output
    print(polls.told())  # noqa: T201 - shown with -s
    assert polls.both_down() == []
    assert all(polls.gaps(host) for host in UNITS)
    assert all(container(lab.bed, host) != before[host] for host in UNITS)


def test_a_killed_apply_leaves_no_unit_stopped_and_locks_nobody_out(lab: Lab) -> None:
    """It is killed while the first host restarts, and Ansible ends with it: that host ends the restart itself.

    The other still serves. The next apply waits for the end of the switch, and restarts the other.
    """
    before = {host: container(lab.bed, host) for host in UNITS}
    restart_both(lab, 122)
    with lab.sparkiac_applying("--yes") as process:
        lab.bed.wait_until("spark-01", f"! systemctl --quiet is-active {UNITS['spark-01']}")
        process.kill()
        process.communicate(timeout=600)
    assert container(lab.bed, "spark-02") == before["spark-02"]
    recap = lab.sparkiac_apply("--yes")
    assert recap.code == 0, recap.output
    assert "spark-01: the switch of an apply that has ended still runs" in recap.output
    assert all(container(lab.bed, host) not in {"", before[host]} for host in UNITS)
    assert all(lab.served(host) == [SERVED[host]] for host in UNITS)
    assert {host: lab.drift(host) for host in UNITS} == {host: [] for host in UNITS}


def test_a_failed_start_is_reported_in_ten_lines_and_stops_the_rollout(lab: Lab) -> None:
    before, text = container(lab.bed, "spark-02"), lab.inventory.read_text()
    restart_both(lab, 123)
    never = "env: {STANDIN_BEHAVIOUR: unhealthy}\n    timeouts: {stop_s: 123, ready_s: 30}"
    lab.inventory.write_text(lab.inventory.read_text().replace("timeouts: {stop_s: 123}", never, 1))
    lab.generate()
    recap = lab.apply()
    assert recap.code != 0
    report = re.compile(r"^ +(sparkiac-qwen36 did not become ready.*?journalctl --unit=\S+)$", re.MULTILINE | re.DOTALL)
    told = report.findall(recap.output)
    assert told, recap.output
    assert len(told[0].splitlines()) <= 10
    assert "/health: HTTP 503" in told[0]
    assert "GET /" not in recap.output
    assert container(lab.bed, "spark-02") == before
    lab.inventory.write_text(text)
    assert lab.served("spark-01") == [SERVED["spark-01"]]
    assert {host: lab.drift(host) for host in UNITS} == {host: [] for host in UNITS}


@pytest.fixture
def changed(lab: Lab) -> Iterator[Lab]:
    """Yield the lab; afterwards its inventory is as it was, and so are the hosts."""
    with goes_back(lab):
        yield lab


def test_a_full_disk_while_staging(changed: Lab) -> None:
    first = container(changed.bed, "spark-01")
    place, kept = "/var/lib/sparkiac/generations", "/tmp/kept"  # noqa: S108  on the host
    size = f"$(($(du -sk {place} | cut -f1) + 60))k"
    small = f"cp -a {place} {kept}; mount -t tmpfs -o size={size} none {place}; cp -a {kept}/. {place}/"
    change(changed, NEW_VERSION)
    try:
        changed.bed.ssh("spark-01", small, root=True)
        failing(changed, "No space left on device")
    finally:
        changed.bed.ssh("spark-01", f"umount {place}; rm -rf {kept}", root=True)
    assert container(changed.bed, "spark-01") == first


@pytest.mark.deep
def test_the_registry_is_dead(changed: Lab) -> None:
    """An image is needed that no host has."""
    running = {host: container(changed.bed, host) for host in UNITS}
    pin(changed, "images", IMAGE, digest="sha256:" + "4" * 64)
    with changed.bed.without_registry():
        failing(changed, "connection refused")
    assert {host: container(changed.bed, host) for host in UNITS} == running


def test_a_host_that_cannot_be_reached(changed: Lab) -> None:
    """No host is changed, and the message says how to leave it out."""
    running = {host: container(changed.bed, host) for host in UNITS}
    change(changed, NEW_VERSION)
    with changed.bed.unplugged("spark-02"):
        output = failing(changed, "Nothing was changed: spark-02 cannot be reached")
        assert '--limit "all:!spark-02"' in " ".join(output.split())
        recap = changed.sparkiac_apply("--yes")
        assert recap.code == 6, recap.output
        assert "spark-02" in recap.output
    assert {host: container(changed.bed, host) for host in UNITS} == running


@pytest.mark.deep
def test_two_applies_at_once(changed: Lab) -> None:
    check_two_applies(changed)


def test_reboot_brings_the_service_back(lab: Lab) -> None:
    with Polls(lab.bed) as polls:
        lab.bed.reboot("spark-01")
        lab.bed.wait_until("spark-01", f"systemctl --quiet is-active {UNITS['spark-01']}")
    assert lab.served("spark-01") == [SERVED["spark-01"]]
    print(f"reboot\n{polls.told()}")  # noqa: T201 - shown with -s


def test_killed_container_is_replaced(lab: Lab) -> None:
    before = container(lab.bed, "spark-02")
    with Polls(lab.bed) as polls:
        lab.bed.ssh("spark-02", f"docker kill {before}", root=True)
        wait_for_another(lab, "spark-02", before)
    print(f"kill\n{polls.told()}")  # noqa: T201 - shown with -s


@pytest.mark.deep
def test_hung_servers_are_replaced(lab: Lab) -> None:
    """Four health checks fail, then the watchdog fires: after 3 minutes where nothing is answered any more.

    Where only completions hang, 4 minutes after the model was asked: the first of the four waits 60 s for an answer.
    """
    before = {host: container(lab.bed, host) for host in UNITS}
    behave(lab.bed, "spark-02", "hang")
    behave(lab.bed, "spark-01", "stall")
    set_last_answer(lab.bed, "spark-01", 1_000_000)
    began = time.monotonic()
    for host, what in (("spark-02", "nothing is answered"), ("spark-01", "completions hang, /health is answered")):
        wait_for_another(lab, host, before[host])
        print(f"{what}: serves again after {time.monotonic() - began:.0f} s")  # noqa: T201 - shown with -s
    journal = lab.bed.ssh("spark-01", f"journalctl -u {UNITS['spark-01']} -o cat", root=True).stdout
    assert "/v1/chat/completions: no answer within 60 s" in journal


def test_a_rotation_leaves_the_former_key_nowhere(lab: Lab) -> None:
    following = "canary-9b27aa-the-next-key"
    (lab.folder / "next").write_text(following)
    words = ["secrets", "rotate", "inventories/lab.yaml", "vllm_api_key", "--yes", "--from", "next"]
    with lab.running([sys.executable, "-m", "sparkiac", *words], folder=lab.folder) as process:
        output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    assert "write secret vllm_api_key" in output
    for host in lab.bed.hosts:
        assert lab.get(host, "/v1/models")[0] == 401
        assert lab.get(host, "/v1/models", key=following)[0] == 200
        found = lab.bed.ssh(
            host, f"grep -rlF {KEY} /etc /run/sparkiac /run/credentials /var/lib", root=True, check=False
        )
        assert found.stdout == ""
    assert KEY not in output
    assert following not in output


def test_removed_deployment_is_taken_away(lab: Lab) -> None:
    text = lab.inventory.read_text()
    start, end = text.index("  gemma4:"), text.index("\nplatforms:")
    lab.inventory.write_text(text[:start] + text[end:])
    lab.generate()
    recap = lab.apply()
    assert recap.code == 0, recap.output
    left = "systemctl is-active sparkiac-gemma4; ls /etc/sparkiac/gemma4 /etc/systemd/system/sparkiac-gemma4.service"
    done = lab.bed.ssh("spark-02", left, check=False)
    assert done.stdout.strip() == "inactive"
    assert container(lab.bed, "spark-02") == ""
    assert lab.apply().changed == {"spark-01": 0, "spark-02": 0}
    left = "ls /etc/sparkiac/secrets /etc/sparkiac/secrets.encrypted"
    assert "vllm_api_key" not in lab.bed.ssh("spark-02", left, root=True).stdout, "nothing there reads it any more"
    assert lab.bed.ssh("spark-01", left, root=True).stdout.count("vllm_api_key") == 2
