"""Another kernel on the two booted hosts of a group: it is kept on both or on none. What is real: tests/e2e/test_os.py.

With -s it prints for how long the group did not answer. These hosts boot in seconds, and their models load nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import BedError, wait_for
from tests.e2e.pair import HOSTS, Pair
from tests.e2e.polls import Polls
from tests.e2e.test_os import NEW, OLD, PACED, boots, pin, prepare, required, state, version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
FIRST, SECOND = HOSTS
"""In the order in which they try a kernel: the first one is the canary of the group."""
BROKEN = "/etc/bed-broken"


@pytest.fixture(scope="module")
def group(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Return the group, applied with the pins of before September; its rank 0 leads and answers."""
    required()
    found = Pair(bed, tmp_path_factory.mktemp("pair"))
    found.prepare()
    found.want(32768, PACED)
    for host in bed.hosts:
        prepare(bed, host)
    pin(found, "a")
    recap = found.apply()
    assert recap.code == 0, recap.output
    pin(found, "b")
    return found


@pytest.fixture
def broken(group: Pair) -> Iterator[list[str]]:
    """Return the hosts on which the new kernel has no GPU, for a test to fill with `breaks`."""
    hosts: list[str] = []
    yield hosts
    for host in hosts:
        group.bed.ssh(host, f"rm -f {BROKEN}", root=True)


def breaks(group: Pair, hosts: list[str], host: str) -> None:
    """Let the new kernel of a host have no GPU."""
    hosts.append(host)
    group.bed.ssh(host, f"touch {BROKEN}", root=True)


def phases(group: Pair) -> dict[str, tuple[str, str]]:
    """Return the running kernel of each host, and the phase of its last trial."""
    found = {host: state(group, host) for host in HOSTS}
    return {host: (each["running"], (each["trial"] or {"phase": ""})["phase"]) for host, each in found.items()}


def has_passed(group: Pair, host: str) -> bool:
    """Return whether a host runs the new kernel, which has passed its gate there; not while it reboots."""
    try:
        found = state(group, host)
    except BedError:
        return False
    return (found["running"], (found["trial"] or {}).get("phase")) == (NEW, "passed")


def told(polls: Polls, what: str) -> None:
    """Print for how long the group was dark."""
    seconds = [gap.seconds for gap in polls.gaps(HOSTS[0])]
    print(f"DARK {what}: {sum(seconds):.0f} s in {len(seconds)} gaps")  # noqa: T201 - shown with -s


def serves(group: Pair) -> None:
    """Wait until the group answers."""
    wait_for(group.is_ready, "the group to answer", timeout=300, every=1)


def test_a_canary_that_fails_leaves_the_group_as_it_was(group: Pair, broken: list[str]) -> None:
    breaks(group, broken, FIRST)
    with Polls(group.bed) as polls:
        recap = group.sparkiac_apply("--yes", command="os")
        serves(group)
    assert recap.code == 1, recap.output
    told(polls, "group, the first node fails, with the proof")
    assert phases(group) == {FIRST: (OLD, "failed"), SECOND: (OLD, "")}
    assert boots(group, SECOND) == [OLD]


def test_a_second_node_that_fails_takes_the_first_back(group: Pair, broken: list[str]) -> None:
    breaks(group, broken, SECOND)
    with Polls(group.bed) as polls:
        recap = group.sparkiac_apply("--yes", command="os")
        serves(group)
    assert recap.code == 1, recap.output
    told(polls, "group, the second node fails, with its proof")
    assert phases(group) == {FIRST: (OLD, "failed"), SECOND: (OLD, "failed")}
    assert "another host of its group failed" in state(group, FIRST)["trial"]["why"]
    assert [NEW in boots(group, host) for host in HOSTS] == [True, True]
    assert {version(group, host) for host in HOSTS} == {"6.17.0-1031.31"}


def test_a_node_that_loses_its_power_between_both_gates_takes_the_group_back(group: Pair) -> None:
    with Polls(group.bed) as polls, group.sparkiac_applying("--yes", command="os") as process:
        wait_for(lambda: has_passed(group, FIRST), "the first node to pass", timeout=400, every=1)
        shown = group.sparkiac("status", "inventories/lab.yaml")
        said = " ".join(shown.stdout.split())
        assert f"kernel {NEW} is tried (passed): any other boot starts {OLD}" in said, shown.stdout + shown.stderr
        group.bed.cut_power(FIRST)
        group.bed.power_on(FIRST)
        output, _ = process.communicate(timeout=1200)
        serves(group)
    assert process.returncode != 0, output
    told(polls, "group, power cut between both gates")
    assert {running for running, _ in phases(group).values()} == {OLD}, output
    assert {phase for _, phase in phases(group).values()} == {"failed"}, output


def test_a_good_kernel_is_mixed_only_between_both_gates(group: Pair) -> None:
    with Polls(group.bed) as polls, group.sparkiac_applying("--yes", command="os") as process:
        wait_for(lambda: has_passed(group, FIRST), "the first node to pass", timeout=400, every=1)
        assert state(group, SECOND)["running"] == OLD
        output, _ = process.communicate(timeout=1200)
        serves(group)
    assert process.returncode == 0, output
    told(polls, "group, good kernel")
    assert phases(group) == dict.fromkeys(HOSTS, (NEW, "good"))
    for host in HOSTS:
        group.bed.reboot(host)
    assert {running for running, _ in phases(group).values()} == {NEW}, "it is the default of both"
