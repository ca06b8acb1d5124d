"""Batches of a rollout: canaries first, then so many single hosts at a time, a group as one."""

from __future__ import annotations

import time
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac.model.inventory import Rollout
from sparkiac.plan.rollout import Play, rollout
from tests.plan.fleets import ONES, PAIR, deployment, faults, planned

FIVE = ", ".join(f"spark-0{number}: {{address: 192.168.1.1{number}}}" for number in range(1, 6))
FLEET = deployment(host=FIVE)


def batches(text: str, written: str) -> list[list[str]]:
    """Return the batches without the part of the names that all hosts share."""
    found = planned(f"{text}rollout: {written}\n").batches
    return [[host.removeprefix("spark-0") for host in batch] for batch in found]


def replica(name: str, host: str, model: str = "example/model") -> str:
    return f"  {name}: {{recipe: base/single-spark, model: {model}, hosts: {host}, port: 8001}}\n"


def test_so_many_single_hosts_at_a_time() -> None:
    assert batches(FLEET, "{}") == [["1"], ["2"], ["3"], ["4"], ["5"]]
    assert batches(FLEET, "{batch: 2}") == [["1", "2"], ["3", "4"], ["5"]]
    assert batches(FLEET, "{batch: 9}") == [["1", "2", "3", "4", "5"]]


def test_a_large_fleet_changes_a_tenth_at_a_time_after_one_host() -> None:
    def sizes(count: int, **written: object) -> list[int]:
        names = [f"h{number:03}" for number in range(count)]
        wanted = Rollout.model_validate(written)
        found, _ = rollout(wanted, {(name,): set() for name in names}, dict.fromkeys(names, frozenset()))
        return [len(each) for each in found]

    assert sizes(10) == [1] * 10
    assert sizes(40) == [1, *[4] * 9, 3]
    assert sizes(40, batch=1) == [1] * 40
    assert sizes(40, canary="h007") == [1, *[4] * 9, 3]


def test_canaries_go_first_each_alone() -> None:
    assert batches(FLEET, "{batch: 4, canary: spark-03}") == [["3"], ["1", "2", "4", "5"]]
    found = planned(FLEET + "rollout: {batch: 4, canary: [spark-05, spark-02]}\n")
    assert found.batches == (("spark-02",), ("spark-05",), ("spark-01", "spark-03", "spark-04"))
    assert (found.rollout.canaries, found.rollout.on_failure, found.rollout.pause_s) == (2, "stop", 0)


def test_a_group_is_a_batch_of_its_own_also_as_a_canary() -> None:
    alone = "".join(f"  spark-0{number}: {{address: 192.168.1.2{number}}}\n" for number in (3, 4))
    fleet = PAIR.replace("deployments:", f"{alone}deployments:")
    assert batches(fleet, "{batch: 3}") == [["1", "2"], ["3", "4"]]
    assert batches(fleet, "{batch: 3, canary: spark-04}") == [["4"], ["1", "2"], ["3"]]
    assert batches(fleet, "{batch: 3, canary: spark-02}") == [["1", "2"], ["3", "4"]]
    assert planned(fleet + "rollout: {canary: spark-02}\n").rollout.canaries == 1


def test_a_server_changes_before_its_clients() -> None:
    asked = FLEET.replace("hosts: spark-01", "hosts: spark-04")
    front = f"services: {{front: {{kind: open-webui, image: 'x@{ONES}', hosts: spark-01, uses: [chat]}}}}\n"
    assert batches(asked + front, "{batch: 9}") == [["2", "3", "4", "5"], ["1"]]
    assert batches(asked + front, "{batch: 9, canary: spark-01}") == [["1"], ["2", "3", "4", "5"]]


def test_hosts_that_serve_the_same_model_are_not_in_one_batch() -> None:
    same = FLEET + replica("also", "spark-02")
    assert batches(same, "{batch: 9}") == [["1", "3", "4", "5"], ["2"]]
    other = FLEET + replica("also", "spark-02", "example/big")
    assert batches(other, "{batch: 9}") == [["1", "2", "3", "4", "5"]]
    named = FLEET.replace("port: 8001", "port: 8001\n    served_names: [fast]")
    third = replica("also", "spark-03", "example/big").replace("port: 8001", "port: 8001, served_names: [x, fast]")
    assert batches(named + third, "{batch: 9}") == [["1", "2", "4", "5"], ["3"]]


def plays(text: str, written: str) -> list[tuple[str, int]]:
    found = planned(f"{text}rollout: {written}\n").rollout.plays
    return [("".join(host.removeprefix("spark-0") for host in play.hosts), play.serial) for play in found]


def test_a_play_has_hosts_whose_batches_may_mix() -> None:
    """Only hosts that differ take part in a play, so the first batch of a play may not be that of the plan."""
    assert plays(FLEET, "{}") == [("12345", 1)]
    assert plays(FLEET, "{batch: 2}") == [("12345", 2)]
    assert plays(FLEET, "{canary: spark-03}") == [("31245", 1)]
    assert plays(FLEET, "{batch: 2, canary: spark-03}") == [("3", 1), ("1245", 2)]
    assert plays(FLEET + replica("also", "spark-02"), "{batch: 3}") == [("134", 3), ("25", 2)]
    front = f"services: {{front: {{kind: open-webui, image: 'x@{ONES}', hosts: spark-02, uses: [chat]}}}}\n"
    assert plays(FLEET + front, "{batch: 3}") == [("134", 3), ("25", 2)]


def test_a_group_has_a_play_of_its_own() -> None:
    third = PAIR.replace("hosts:\n", "hosts:\n  spark-00: {address: 192.168.1.10}\n", 1)
    assert planned(third + "rollout: {batch: 5}\n").rollout.plays == (
        Play(("spark-00",), 1),
        Play(("spark-01", "spark-02"), 2),
    )


def test_an_unknown_canary() -> None:
    assert faults(FLEET + "rollout: {canary: spark-9}\n") == ["REF001 10:19 unknown host 'spark-9'"]
    assert faults(FLEET + "rollout: {canary: [spark-01, spark-9]}\n") == ["REF001 10:30 unknown host 'spark-9'"]


HOSTS = st.integers(0, 11)


@given(
    groups=st.lists(st.sets(HOSTS, min_size=2, max_size=4), max_size=3),
    edges=st.sets(st.tuples(HOSTS, HOSTS), max_size=12),
    models=st.lists(st.sets(HOSTS, max_size=5), max_size=3),
    canary=st.sets(HOSTS, max_size=3),
    size=st.integers(1, 5),
)
def test_what_holds_for_every_rollout(
    groups: list[set[int]], edges: set[tuple[int, int]], models: list[set[int]], canary: set[int], size: int
) -> None:
    """Each host is in one batch and one play; no play can change two hosts at once that must not change at once."""
    joined = {number: {number} for number in range(12)}
    for group in groups:
        members = set[int]().union(*(joined[number] for number in group))
        joined |= dict.fromkeys(members, members)
    together = {number: tuple(f"h{each:02}" for each in sorted(members)) for number, members in joined.items()}
    needs = {hosts: set[tuple[str, ...]]() for hosts in sorted({*together.values()})}
    for client, server in edges:
        needs[together[client]] |= {together[server]} - {together[client]}
    names = {f"h{each:02}": frozenset(str(i) for i, on in enumerate(models) if each in on) for each in range(12)}
    wanted = Rollout(batch=size, canary=tuple(f"h{number:02}" for number in canary))
    found, way = rollout(wanted, needs, names)

    assert sorted(host for batch in found for host in batch) == sorted(names)
    assert [host for batch in found for host in batch] == [host for play in way.plays for host in play.hosts]
    first = {host for batch in found[: way.canaries] for host in batch}
    assert first == {host for number in canary for host in together[number]}
    where = {host: number for number, batch in enumerate(found) for host in batch}
    for batch in (*found, *(play.hosts for play in way.plays if play.serial > 1)):
        group = batch in needs and len(batch) > 1
        assert group or all((host,) in needs for host in batch)
        assert group or not any(names[one] & names[two] for one, two in combinations(batch, 2))
        assert group or not any((two,) in needs[one,] for one in batch for two in batch)
    assert all(len(batch) <= size or batch in needs for batch in found)
    one_way = all(client > server for client, server in edges) and not groups
    if one_way and not canary:
        assert all(where[server[0]] < where[client[0]] for client, servers in needs.items() for server in servers)


@pytest.mark.parametrize("size", [1, 10])
@pytest.mark.parametrize("models", [1, 30_000], ids=["replicas", "different models"])
def test_thirty_thousand_hosts(size: int, models: int) -> None:
    hosts = [f"h{number:05}" for number in range(30_000)]
    needs: dict[tuple[str, ...], set[tuple[str, ...]]] = {
        (host,): {(hosts[0],)} if number > 20_000 else set() for number, host in enumerate(hosts)
    }
    names = {host: frozenset({str(number % models)}) for number, host in enumerate(hosts)}
    began = time.process_time()
    found, way = rollout(Rollout(batch=size), needs, names)
    assert time.process_time() - began < 5
    assert len(found) == (30_000 if models == 1 or size == 1 else 3_000)
    assert len(way.plays) == (1 if len(found) == 30_000 else 2)
