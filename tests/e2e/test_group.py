"""A group of two booted hosts: it switches as one, whatever fails.

While a fault is injected, the processes of the ranks are watched: no two of them ever belong to different generations.
"""

from __future__ import annotations

import json
import random
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e.bed.shell import BedError, wait_for
from tests.e2e.faults import IMAGE, pin
from tests.e2e.pair import (
    HOSTS,
    LENGTH,
    MODEL,
    STATUS,
    UNIT,
    Pair,
    applied,
    container,
    containers,
    journal,
    length_of,
)
from tests.e2e.watch import Watch

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

FAULTS = ("switch program", "power", "power of both", "link", "link for long")
SEEDS = 20
NORMAL = 3
"""The seed of the fault that runs with the normal tests: a link that fails. A cut of power takes a boot."""
NEW = 5120
"""What the other generation serves."""
SLOW_STOP = "STANDIN_STOP_SECONDS: '11'"
"""A real headless rank took 11 s to stop."""


def ranks(bed: Bed) -> dict[str, set[int]]:
    """Return what the processes of each host serve that are ranks of the group."""
    found: dict[str, set[int]] = {host: set() for host in HOSTS}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            argv = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word.endswith("/vllm") for word in argv[:2]) and any(word.startswith(LENGTH) for word in argv):
            host = bed.host_of(int(place.name))
            if host:
                found[host].add(length_of(argv))
    return found


@pytest.fixture(scope="module")
def pair(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Return the group, applied: it serves."""
    return applied(Pair(bed, tmp_path_factory.mktemp("pair")))


def committed(pair: Pair) -> dict[str, str]:
    """Return the committed generation of each host that can be reached."""
    return {host: str(state["committed"]) for host, state in pair.states().items()}


def unchanged(pair: Pair) -> None:
    """Apply twice: the first time brings both hosts to the tree, the second one changes nothing."""
    recap = pair.apply()
    assert recap.code == 0, recap.output
    recap = pair.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output


def test_the_first_apply_forms_the_group(pair: Pair) -> None:
    assert pair.served("spark-01") == [MODEL]
    assert pair.lengths() == {32768}
    assert ranks(pair.bed) == {host: {32768} for host in HOSTS}


def test_the_coordinator_accepts_votes_from_the_other_host_only(pair: Pair) -> None:
    other = pair.bed.hosts["spark-02"]
    rules = pair.bed.ssh("spark-01", "nft list table inet sparkiac", root=True).stdout
    for address in (other.address, other.fabric_address):
        assert f"tcp dport 7348 ip saddr {address} accept" in rules
    assert re.search(r"tcp dport 7348 tcp flags .* drop", rules)


def test_an_apply_without_a_change_changes_nothing(pair: Pair) -> None:
    before = {host: container(pair, host) for host in HOSTS}
    recap = pair.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output
    assert {host: container(pair, host) for host in HOSTS} == before


def test_a_part_of_the_group_is_refused(pair: Pair) -> None:
    recap = pair.apply("--limit", "spark-01")
    assert recap.code != 0
    assert "leaves out spark-02" in " ".join(recap.output.split())
    assert recap.changed == {"spark-01": 0}, recap.output


@pytest.mark.deep
def test_the_health_checks_of_an_image_whose_user_is_not_root_reach_the_closed_port(pair: Pair) -> None:
    digest = pair.bed.push("nvidia/vllm", user="nobody")
    assert digest != json.loads(pair.inventory.with_name("lab.lock.yaml").read_text())["images"][IMAGE]["digest"]
    pin(pair, "images", IMAGE, digest=digest)
    recap = pair.apply()
    assert recap.code == 0, recap.output
    _, told = pair.get("spark-01", "/standin")
    assert told["uid"] == 0
    assert pair.served("spark-01") == [MODEL]


@pytest.mark.deep
def test_a_change_that_no_rank_sees_leaves_both_running(pair: Pair) -> None:
    before, former = containers(pair), committed(pair)
    pair.describe("another text")
    assert f"restart {UNIT}" not in pair.apply("--check").output
    assert pair.apply().code == 0
    assert all(committed(pair)[host] != former[host] for host in HOSTS)
    assert containers(pair) == before
    assert pair.apply(playbook="playbooks/rollback.yml").code == 0
    assert committed(pair) == former
    assert containers(pair) == before
    assert pair.is_ready()


@pytest.mark.deep
def test_another_option_restarts_both_ranks(pair: Pair) -> None:
    before, [length] = containers(pair), pair.lengths()
    pair.want(length - 256)
    announced = re.findall(rf"\[(spark-\d+)\].*restart {UNIT}", pair.apply("--check").output)
    assert {*announced} == {*HOSTS}
    with Watch(pair.bed, ranks) as watch:
        assert pair.apply().code == 0
    assert not set(containers(pair)) & {"", *before}
    assert pair.lengths() == {length - 256}
    assert watch.mixed == []


@pytest.mark.deep
def test_a_bad_version_goes_back_on_both_hosts(pair: Pair) -> None:
    before, old = committed(pair), pair.lengths()
    pair.want(8192, "STANDIN_BEHAVIOUR: garbage")
    with Watch(pair.bed, ranks) as watch:
        recap = pair.apply()
    assert recap.code == 2, recap.output
    assert "one token repeated" in " ".join(recap.output.split()), recap.output
    assert watch.mixed == []
    assert committed(pair) == before
    assert pair.lengths() == old
    pair.want(*old)
    unchanged(pair)


@pytest.mark.deep
def test_a_restart_restarts_both_ranks(pair: Pair) -> None:
    before, length = {host: container(pair, host) for host in HOSTS}, pair.lengths()
    recap = pair.apply("-e", "unit=qwen36", playbook="playbooks/restart.yml")
    assert recap.code == 0, recap.output
    after = {host: container(pair, host) for host in HOSTS}
    assert all(after[host] not in {"", before[host]} for host in HOSTS)
    assert pair.lengths() == length


@pytest.mark.deep
@pytest.mark.parametrize(("fault", "seconds"), [("power", 8), ("link for long", 4)])
def test_a_fault_during_an_apply_never_mixes_generations(pair: Pair, fault: str, seconds: int) -> None:
    """Both hosts end on one generation by themselves, and the next apply converges."""
    [old] = pair.lengths()
    new = old - 1024
    pair.want(new)
    with Watch(pair.bed, ranks) as watch, pair.applying() as process, ThreadPoolExecutor() as pool:
        output = pool.submit(process.communicate)
        wait_for(lambda: switching(pair) or output.done(), "the switch", timeout=300)
        time.sleep(seconds)
        inject(pair.bed, fault, "spark-02")
        printed, _ = output.result(timeout=900)
        pair.settle()
    assert watch.mixed == [], printed
    assert pair.lengths() in ({old}, {new}), printed
    unchanged(pair)
    assert pair.lengths() == {new}


class Switch(NamedTuple):
    """Two generations that both hosts keep, by what they serve, and what was seen when an apply switched to the new."""

    kept: dict[int, dict[str, str]]
    watch: Watch[int]


@pytest.fixture(scope="module")
def switch(pair: Pair) -> Switch:
    """Apply another generation, whose ranks stop slowly."""
    [former] = pair.lengths()
    kept = {former: committed(pair)}
    pair.want(NEW, SLOW_STOP)
    with Watch(pair.bed, ranks) as watch:
        recap = pair.apply()
    assert recap.code == 0, recap.output
    return Switch(kept | {NEW: committed(pair)}, watch)


def test_both_hosts_switch_together(pair: Pair, switch: Switch) -> None:
    assert pair.lengths() == {NEW}
    assert switch.watch.seen == set(switch.kept)
    assert switch.watch.mixed == []


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed == NORMAL else pytest.mark.deep) for seed in range(SEEDS)]
)
def test_a_fault_during_a_switch_never_mixes_generations(pair: Pair, switch: Switch, seed: int) -> None:
    """As above, with the switch programs alone: started as the playbooks start them, on both hosts at once."""
    chance = random.Random(seed)
    fault, victim = FAULTS[seed % len(FAULTS)], HOSTS[chance.randrange(2)]
    seconds = chance.random() * 12
    [old] = pair.lengths()
    [new] = switch.kept.keys() - {old}
    began = time.monotonic()
    with Watch(pair.bed, ranks) as watch:
        for host in HOSTS:
            start(pair, host, switch.kept[new][host], f"seed{seed}")
        wait_for(lambda: switching(pair), "the switch", timeout=600)
        time.sleep(seconds)
        inject(pair.bed, fault, victim)
        pair.settle()
    assert watch.looks > 0
    assert watch.mixed == []
    assert pair.lengths() in ({old}, {new})
    assert committed(pair) == switch.kept[pair.lengths().pop()]
    end = "switched" if pair.lengths() == {new} else "went back"
    said = f"{fault} of {victim} after {seconds:.1f} s: {end}, settled after {time.monotonic() - began:.0f} s"
    print(f"seed {seed}: {said}, {watch.looks} looks", flush=True)  # noqa: T201 - shown with -s


@pytest.mark.deep
def test_after_all_faults_an_apply_converges(pair: Pair) -> None:
    """The leases of the switches, which nobody released, end by themselves."""
    wait_for(lambda: leases(pair) == {"spark-01": None, "spark-02": None}, "the leases to end", timeout=600)
    pair.want(4096)
    unchanged(pair)


def leases(pair: Pair) -> dict[str, object]:
    """Return who holds the lease of each host that can be reached; None for nobody."""
    return {host: state["lease"] for host, state in pair.states().items()}


def start(pair: Pair, host: str, generation: str, run: str) -> None:
    """Start a switch of the group on a host, and do not wait for it."""
    program = "/usr/local/lib/sparkiac/switch"
    script = (
        f"rm -f /run/sparkiac/lease.json; {program} lease take --run {run} --owner test\n"
        f"""echo '{{"token": "{run}-secret"}}' >/run/token\n"""
        f"nohup {program} start {generation} --run {run} --also={UNIT} </run/token >/dev/null 2>&1 &"
    )
    pair.bed.ssh(host, script, root=True)


def switching(pair: Pair) -> bool:
    """Return whether the switch has begun on both hosts."""
    done = [pair.bed.ssh(host, "systemctl is-active sparkiac-switch", check=False).stdout.strip() for host in HOSTS]
    return done == ["active", "active"]


def inject(bed: Bed, fault: str, victim: str) -> None:
    """Inject a fault on one host, or on both; everything comes back after a while."""
    if fault == "switch program":
        bed.ssh(victim, "systemctl kill --signal=KILL sparkiac-switch", root=True, check=False)
    elif fault.startswith("power"):
        hosts = HOSTS if fault == "power of both" else (victim,)
        for host in hosts:
            bed.cut_power(host)
        for host in hosts:
            bed.power_on(host, wait=False)
    else:
        bed.cut_fabric()
        time.sleep(40 if fault == "link for long" else 5)
        bed.restore_fabric()


@pytest.mark.deep
def test_when_the_leader_is_killed_both_ranks_start_again_without_a_controller(pair: Pair) -> None:
    """Each rank is another container afterwards, and the group answers; the seconds are printed with -s."""
    before, length = {host: container(pair, host) for host in HOSTS}, pair.lengths()
    began = time.monotonic()
    pair.bed.ssh("spark-01", f"docker kill {before['spark-01']}", root=True)
    wait_for(lambda: all(container(pair, host) not in {"", before[host]} for host in HOSTS), "both ranks", timeout=300)
    pair.settle()
    assert pair.lengths() == length
    print(f"serving again after {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201 - shown with -s


@pytest.mark.deep
@pytest.mark.parametrize("victim", ["spark-02", "spark-01"])
def test_a_rank_that_dies_as_soon_as_it_starts_is_found_by_the_other(pair: Pair, victim: str) -> None:
    """Before any health check: all containers end, the group starts again and answers."""
    before, length = {host: container(pair, host) for host in HOSTS}, pair.lengths()
    pair.bed.ssh("spark-01", f"docker kill {before['spark-01']}", root=True)
    wait_for(lambda: all(new(pair, host, before) for host in HOSTS), "both new ranks", timeout=300, every=0.1)
    young = {host: container(pair, host) for host in HOSTS}
    pair.bed.ssh(victim, f"docker kill {young[victim]}", root=True)
    began = time.monotonic()
    wait_for(lambda: not set(young.values()) & set(containers(pair)), "the end of both", timeout=300, every=0.1)
    found = time.monotonic() - began
    pair.settle()
    assert pair.lengths() == length
    shown = f"{victim} killed: both had ended after {found:.1f} s, serving after {time.monotonic() - began:.0f} s"
    print(shown, flush=True)  # noqa: T201 - shown with -s


@pytest.mark.deep
def test_a_leader_that_does_not_reach_its_worker_is_not_ready_until_the_link_is_back(pair: Pair) -> None:
    """The seconds are printed with -s. No rank ends, and an outage of 3 s changes nothing."""
    wait_for(pair.is_ready, "the leader to be ready", timeout=600)
    before = containers(pair)
    pair.bed.cut_fabric()
    time.sleep(3)
    pair.bed.restore_fabric()
    for _ in range(15):
        assert pair.is_ready()
        time.sleep(1)
    began = time.monotonic()
    pair.bed.cut_fabric()
    try:
        not_ready(pair, began, "cable cut")
        status = pair.sparkiac("status", "inventories/lab.yaml")
        said = "spark-01 qwen36: unhealthy: no word from spark-02"
        assert (status.returncode, said in " ".join(status.stdout.split())) == (1, True), status.stdout
    finally:
        pair.bed.restore_fabric()
    wait_for(pair.is_ready, "the leader to be ready again", timeout=300)
    assert containers(pair) == before


@pytest.mark.deep
def test_a_leader_whose_worker_lost_its_power_is_not_ready_until_it_is_back(pair: Pair) -> None:
    wait_for(pair.is_ready, "the leader to be ready", timeout=600)
    began = time.monotonic()
    pair.bed.cut_power("spark-02")
    try:
        wait_for(lambda: not pair.is_ready(), "the leader not to be ready", timeout=600, every=0.2)
        print(f"power of the worker cut: not ready after {time.monotonic() - began:.1f} s", flush=True)  # noqa: T201
    finally:
        pair.bed.power_on("spark-02")
    pair.settle()
    wait_for(pair.is_ready, "the leader to be ready again", timeout=300)


def not_ready(pair: Pair, began: float, fault: str) -> None:
    """Wait until the leader takes no connections and is not healthy, and print after how many seconds that was."""
    for true, what in (
        (lambda: pair.served("spark-01") != [MODEL], "port closed"),
        (lambda: "unhealthy no word from spark-02" in status_text(pair, "spark-01"), "unhealthy"),
    ):
        wait_for(true, what, timeout=600, every=0.2)
        print(f"{fault}: {what} after {time.monotonic() - began:.1f} s", flush=True)  # noqa: T201 - shown with -s


@pytest.mark.deep
def test_a_rank_that_never_answers_gives_up_and_the_other_waits_for_it(pair: Pair) -> None:
    """One command on its host brings the group back."""
    compose, length = "/etc/sparkiac/qwen36/compose.yaml", pair.lengths()
    node = "/etc/sparkiac/qwen36/group.json"
    # A node does not start from edited files, so its list of them is emptied too.
    emptied = f"import json; f = {node!r}; d = json.load(open(f)); d['files'] = {{}}; json.dump(d, open(f, 'w'))"
    breaks = f"cp -a {compose} {node} /root/; sed -i s/--max-model-len=[0-9]*/--no-such-option/ {compose}"
    pair.bed.ssh("spark-02", f"{breaks}; python3 -c {shlex.quote(emptied)}", root=True)
    pair.bed.ssh("spark-02", f"docker kill {container(pair, 'spark-02')}", root=True)
    failed = f"systemctl is-failed {UNIT}"
    wait_for(lambda: pair.bed.ssh("spark-02", failed, check=False).returncode == 0, "spark-02 to give up", timeout=600)
    assert "gave up: 5 starts in a row never answered" in journal(pair, "spark-02")
    waiting = "starting waiting for spark-02 to start"
    wait_for(lambda: status_text(pair, "spark-01") == waiting, "spark-01 to wait", timeout=600)
    assert containers(pair) == ["", ""]
    assert pair.bed.ssh("spark-01", failed, check=False).returncode != 0
    said = " ".join(pair.sparkiac("status", "inventories/lab.yaml").stdout.split())
    assert "spark-02 qwen36: gave up: 5 starts in a row never answered" in said
    assert "spark-01 qwen36: starting: waiting for spark-02 to start" in said
    pair.bed.ssh(
        "spark-02",
        f"cp -a /root/compose.yaml /root/group.json /etc/sparkiac/qwen36/; systemctl start {UNIT}",
        root=True,
    )
    pair.settle()
    assert pair.lengths() == length


def status_text(pair: Pair, host: str) -> str:
    return pair.bed.ssh(host, f"systemctl show --property=StatusText --value {UNIT}").stdout.strip()


def new(pair: Pair, host: str, before: dict[str, str]) -> bool:
    return container(pair, host) not in {"", before[host]}


@pytest.mark.deep
def test_ranks_of_different_generations_form_no_group_after_a_boot(pair: Pair) -> None:
    """The disk of one host is restored from a backup: no rank starts, the hosts are named, and an apply heals it."""
    kept = f"/etc/sparkiac /etc/systemd/system/{UNIT}.service /var/lib/sparkiac/state.json"
    pair.bed.ssh("spark-02", f"tar --create --file /root/backup.tar {kept}", root=True)
    [old] = pair.lengths()
    pair.want(old - 512)
    assert pair.apply().code == 0
    pair.bed.ssh("spark-02", "tar --extract --file /root/backup.tar --directory /; sync", root=True)
    with Watch(pair.bed, ranks) as watch:
        pair.bed.cut_power("spark-02")
        pair.bed.power_on("spark-02", wait=True)
        wait_for(lambda: all("starts version" in journal(pair, host) for host in HOSTS), "a refusal", timeout=300)
        wait_for(lambda: containers(pair) == ["", ""], "the end of the ranks", timeout=600)
        wait_for(lambda: named(pair, "spark-02 starts version"), "status to name the host", timeout=600)
    assert watch.seen == {old - 512}, "only the rank of the running generation was seen, before the power cut"
    unchanged(pair)
    assert pair.lengths() == {old - 512}


def named(pair: Pair, text: str) -> bool:
    """Return whether `status` shows a text. Between two starts, a rank shows that it waits for the other one."""
    status = pair.sparkiac("status", "inventories/lab.yaml")
    return status.returncode == 1 and text in " ".join(status.stdout.split())


@pytest.mark.deep
def test_a_rank_that_stops_slowly_has_stopped_before_the_other_goes_back(pair: Pair) -> None:
    """The link is cut for good while the new generation loads; stopping a rank takes longer than noticing that."""
    old = pair.lengths()
    pair.want(2048, "STANDIN_LOAD_SECONDS: '20', STANDIN_STOP_SECONDS: '25'")
    with Watch(pair.bed, ranks) as watch, pair.applying() as process, ThreadPoolExecutor() as pool:
        output = pool.submit(process.communicate)
        try:
            wait_for(lambda: ranks(pair.bed) == {host: {2048} for host in HOSTS}, "both new ranks", timeout=300)
            pair.bed.cut_fabric()
            wait_for(lambda: output.done() or ended(pair, "spark-01"), "spark-01 to go back", timeout=600)
        finally:
            pair.bed.restore_fabric()
        printed, _ = output.result(timeout=900)
        pair.settle()
    assert watch.mixed == [], printed
    assert pair.lengths() == old
    pair.want(16384)
    unchanged(pair)


def ended(pair: Pair, host: str) -> bool:
    """Return whether the switch of a host has ended."""
    try:
        return pair.bed.ssh(host, STATUS, root=True, check=False).returncode == 0
    except BedError:
        return False
