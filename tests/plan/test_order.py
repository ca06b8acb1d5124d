"""In which order units start: the model, then the agent, then the front end, also over hosts."""

from __future__ import annotations

from tests.plan.fleets import ONES, PAIR, deployment, planned

HOSTS = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
SECOND = "  also: {recipe: base/single-spark, model: example/also, hosts: spark-01, port: 8002}\n"
ALONE = "  alone: {recipe: base/single-spark, model: example/alone, hosts: spark-01, port: 8002}\n"
CHAIN = f"""\
services:
  asr: {{kind: parakeet, image: 'example.org/asr@{ONES}', hosts: spark-02}}
  agent: {{kind: hermes-agent, hosts: spark-01, uses: chat, api_key: {{secret: k}}, program: /usr/bin/h, user: s}}
  a-front: {{kind: open-webui, image: 'example.org/webui@{ONES}', hosts: spark-02, uses: [agent]}}
"""


def starts(text: str) -> dict[str, list[str]]:
    return {host.name: [unit.removeprefix("sparkiac-") for unit in host.start_order] for host in planned(text).hosts}


def test_model_agent_front_end_over_two_hosts() -> None:
    assert starts(deployment(host=HOSTS) + CHAIN) == {
        "spark-01": ["chat", "agent"],
        "spark-02": ["asr", "a-front"],
    }


def test_engines_go_first_and_one_after_the_other() -> None:
    found = starts(
        deployment() + SECOND + f"services: {{asr: {{kind: parakeet, image: 'x@{ONES}', hosts: spark-01}}}}\n"
    )
    assert found == {"spark-01": ["also", "chat", "asr"]}


def test_the_nodes_of_a_group_start_at_the_same_time() -> None:
    """Before what one of the hosts runs alone: no node waits for a load on another host."""
    assert starts(PAIR + ALONE) == {"spark-01": ["big", "alone"], "spark-02": ["big"]}


def test_single_hosts_change_one_after_the_other_and_who_asks_comes_last() -> None:
    assert planned(deployment(host=HOSTS)).batches == (("spark-01",), ("spark-02",))
    assert planned(deployment(host=HOSTS) + CHAIN).batches == (("spark-01",), ("spark-02",))
    asked = deployment(host=HOSTS).replace("hosts: spark-01", "hosts: spark-02")
    assert planned(asked).batches == (("spark-01",), ("spark-02",))
    front = f"services: {{front: {{kind: open-webui, image: 'x@{ONES}', hosts: spark-01, uses: [chat]}}}}\n"
    assert planned(asked + front).batches == (("spark-02",), ("spark-01",))


def test_hosts_that_ask_each_other_still_change_one_after_the_other() -> None:
    circle = f"""\
services:
  front: {{kind: open-webui, image: 'example.org/webui@{ONES}', hosts: spark-02, uses: [chat]}}
  agent: {{kind: hermes-agent, hosts: spark-02, uses: chat, api_key: {{secret: k}}, program: /usr/bin/h, user: s}}
  other: {{kind: open-webui, image: 'example.org/webui@{ONES}', hosts: spark-01, uses: [agent]}}
"""
    assert planned(deployment(host=HOSTS) + circle).batches == (("spark-01",), ("spark-02",))


def test_the_hosts_of_a_group_change_together() -> None:
    third = PAIR.replace("hosts:\n", "hosts:\n  spark-00: {address: 192.168.1.10}\n", 1)
    assert planned(PAIR + ALONE).batches == (("spark-01", "spark-02"),)
    assert planned(third).batches == (("spark-00",), ("spark-01", "spark-02"))


def test_a_fleet_that_runs_nothing() -> None:
    assert starts("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n") == {"spark-01": []}
