"""In which order units start: the model, then the agent, then the front end, also over hosts (row 10.3)."""

from __future__ import annotations

from tests.plan.fleets import ONES, PAIR, deployment, planned

HOSTS = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
SECOND = "  also: {recipe: base/single-spark, model: example/also, on: spark-01, port: 8002}\n"
CHAIN = f"""\
services:
  asr: {{kind: parakeet, image: 'example.org/asr@{ONES}', on: spark-02}}
  agent: {{kind: hermes-agent, on: spark-01, uses: chat, api_key: {{secret: k}}, program: /usr/bin/h, user: s}}
  a-front: {{kind: open-webui, image: 'example.org/webui@{ONES}', on: spark-02, uses: [agent]}}
"""


def starts(text: str) -> dict[str, list[str | None]]:
    return {
        host.name: [unit and unit.removeprefix("sparkiac-") for unit in host.starts] for host in planned(text).hosts
    }


def test_model_agent_front_end_over_two_hosts() -> None:
    assert starts(deployment(host=HOSTS) + CHAIN) == {
        "spark-01": ["chat", "agent", None],
        "spark-02": ["asr", None, "a-front"],
    }


def test_engines_go_first_and_one_after_the_other() -> None:
    found = starts(deployment() + SECOND + f"services: {{asr: {{kind: parakeet, image: 'x@{ONES}', on: spark-01}}}}\n")
    assert found == {"spark-01": ["also", "chat", "asr"]}


def test_the_nodes_of_a_group_start_at_the_same_time() -> None:
    alone = "  alone: {recipe: base/single-spark, model: example/alone, on: spark-01, port: 8002}\n"
    assert starts(PAIR + alone) == {"spark-01": ["alone", "big"], "spark-02": [None, "big"]}


def test_a_fleet_that_runs_nothing() -> None:
    assert starts("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n") == {"spark-01": []}
