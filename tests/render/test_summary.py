"""PLAN.md: what a reviewer reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.commands import terminal
from sparkiac.memory import budget
from sparkiac.render.templates import fill
from sparkiac.words import plan as words
from tests.plan.fleets import LOCK, ONES, PAIR, deployment, planned, service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]

DIFFERS = "in the range of recorded starts"
GRAPHS = "measured: startup log; in addition to the requested memory"
EXAMPLE = "**Cannot be applied: 2 pins are examples or missing. ansible-playbook stops in its first task."


def page(tree: Mapping[str, Artifact]) -> str:
    return tree["PLAN.md"].content.decode()


def rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("|")
    ]


def test_a_hosts_memory_with_every_term(rendered: Rendered) -> None:
    text = page(rendered(deployment("measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}")))
    facts = {row[0]: row[1] for row in rows(text) if len(row) == 2}
    assert (facts["address"], facts["driver"], facts["memory"]) == ("192.168.1.11", "580", "119.0 GiB")
    measured = "measured: startup log"
    assert [row for row in rows(text) if len(row) == 3][1:] == [
        ["chat weights", "14.9 GiB", "tensors of the locked files"],
        ["chat runtime", "3.0 GiB", measured],
        ["chat KV cache", "83.2 GiB", "what the other terms leave"],
        ["chat CUDA graphs", "1.0 GiB", GRAPHS],
        ["processes of vLLM", "4.3 GiB", f"assumed: {budget.PROCESSES_SOURCE}; 1.0 GiB to 4.3 GiB {DIFFERS}"],
        ["system and page cache", "7.6 GiB", "assumed: SM121 reference L17: use at most 0.90 of the memory"],
        ["left free", "5.0 GiB", "not used"],
    ]


def test_servers_at_rest_and_while_they_load(rendered: Rendered) -> None:
    text = page(rendered(deployment("measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}")))
    loads = "14.9 GiB to 29.8 GiB while chat loads, with its files in the page cache"
    assert f"| left free | 5.0 GiB | not used |\n\nServers: 102.2 GiB at rest, {loads}.\n" in text


def test_servers_of_unknown_size_have_no_sum(rendered: Rendered) -> None:
    assert "Servers: " not in page(rendered(deployment().replace("example/model", "example/other")))


def test_what_is_not_known_says_so(rendered: Rendered) -> None:
    text = page(rendered(deployment(host="spark-01: {address: 192.168.1.11, driver: null}")))
    assert "| driver | not checked |" in text
    [left] = [row for row in rows(text) if row[0] == "left free"]
    assert left[1:] == ["5.8 GiB", "not used"]


def test_what_a_deployment_holds_and_what_is_expected_of_it(rendered: Rendered) -> None:
    text = page(rendered(deployment("set: {gpu_memory_utilization: 0.5}", "workload: {users: 2, context: 65536}")))
    facts = {row[0]: row[1] for row in rows(text) if len(row) == 2}
    assert facts["one request of 65,536 tokens"].startswith("fits: needs ")
    assert facts["2 requests of 65,536 tokens"].startswith("fits: needs ")
    assert facts["time to first token, stall by a long prompt"] == "unknown, missing: published prefill rate"
    steps = [row for row in rows(text) if len(row) == 5 and row[-1] == "current"]
    assert [row[0] for row in steps] == ["0.50"]


def test_each_unit_has_a_row_and_its_whole_command(rendered: Rendered) -> None:
    text = page(rendered(deployment("description: 'For | the _team_'")))
    assert [row for row in rows(text) if row[0] == "sparkiac-chat"] == [
        ["sparkiac-chat", r"For \| the \_team\_", "192.168.1.11:8001", "101.1 GiB"]
    ]
    [chat] = planned(deployment()).hosts[0].containers
    words = [line.removeprefix("    ") for line in text.splitlines() if line.startswith("    ")]
    assert words == list(chat.argv)
    assert f"Image `nvcr.io/nvidia/vllm@{ONES}`, the pin of `nvcr.io/nvidia/vllm:26.04-py3`. Start timeout" in text
    assert "Start timeout 1200 s, stop timeout 120 s." in text


def test_what_has_no_port_has_an_empty_cell(rendered: Rendered) -> None:
    [row] = [row for row in rows(page(rendered(service()))) if row[0] == "sparkiac-asr"]
    assert row[2:4] == ["", "unknown"]


def test_a_host_that_runs_nothing_has_no_table_of_units(rendered: Rendered) -> None:
    text = page(rendered("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n"))
    assert "## spark-01" in text
    assert "| unit |" not in text


def test_hosts_come_in_order(rendered: Rendered) -> None:
    headings = [line for line in page(rendered(PAIR)).splitlines() if line.startswith("#")]
    assert headings == [
        "# Plan of pair",
        "## Rollout",
        "## spark-01",
        "### sparkiac-big",
        "## spark-02",
        "### sparkiac-big",
    ]


def test_example_digests_are_marked() -> None:
    from sparkiac.render import summary  # noqa: PLC0415  beside the fixture's whole tree

    marked = planned(deployment(), locked=LOCK.replace("version: 1", "version: 1\nexample: true"))
    assert EXAMPLE in summary.render(marked).content.decode()
    assert EXAMPLE not in summary.render(planned(deployment())).content.decode()


def test_a_template_never_prints_nothing_for_a_value_it_does_not_know() -> None:
    with pytest.raises(Exception, match="is undefined"):
        fill("PLAN.md.j2", {"name": "lab"})


FLEET = PAIR.replace("deployments:", "  spark-03: {address: 192.168.1.13}\ndeployments:")


def test_one_line_for_each_batch_of_the_rollout(rendered: Rendered) -> None:
    written = "rollout: {pause_s: 60, canary: spark-02, on_failure: back}\nretired: {old: {address: 192.168.1.14}}\n"
    assert """
## Rollout

2 batches, 60 s apart. If a host fails, the rollout stops; hosts that changed before it go back too.

1. spark-01, spark-02 (canary: a group, which changes as a whole)
2. spark-03

Last, sparkiac is removed from old.

## spark-01
""" in page(rendered(FLEET + written))


def test_the_default_rollout(rendered: Rendered) -> None:
    assert """
## Rollout

2 batches. If a host fails, the rollout stops; hosts that changed before it keep their new generation.

1. spark-01, spark-02 (a group, which changes as a whole)
2. spark-03

## spark-01
""" in page(rendered(FLEET))
    assert "\n\n1 batch.\n\n1. spark-01, spark-02 (a group" in page(rendered(PAIR))


def test_one_host_has_no_rollout(rendered: Rendered) -> None:
    assert "Rollout" not in page(rendered(deployment()))


def test_the_table_lists_the_batches(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    terminal.show(words.tables(planned(FLEET + "rollout: {canary: spark-03}\n"), terminal.width()))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    at = lines.index("rollout")
    assert lines[at + 2 : at + 5] == [
        "2 batches. If a host fails, the rollout stops; hosts that changed before it keep their new generation.",
        "1.  spark-03 (canary)",
        "2.  spark-01, spark-02 (a group, which changes as a whole)",
    ]
    terminal.show(words.tables(planned(deployment()), terminal.width()))
    assert "rollout" not in capsys.readouterr().out


def test_the_waivers_with_their_ends(rendered: Rendered) -> None:
    until = 'allow: [{code: MEM001, reason: a | b, until: {release: "0.34"}}]'
    host = 'spark-01: {address: 192.168.1.11, allow: [{code: DRV100, reason: ran, until: {image_after: "2027-01"}}]}'
    text = page(rendered(deployment(until, host=host) + "allow: [{code: MON004, reason: seen daily}]\n"))
    assert (
        """
## Waivers

| waives | for | until | reason |
|---|---|---|---|
| MON004 | the fleet | no end | seen daily |
| DRV100 | hosts.spark-01 | an image built after 2027-01 | ran |
| MEM001 | deployments.chat | release 0.34 | a \\| b |

## spark-01
"""
        in text
    )
    assert "Waivers" not in page(rendered(deployment()))
