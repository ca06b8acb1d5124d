"""PLAN.md: what a reviewer reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.render.templates import fill, gib
from tests.plan.fleets import LOCK, ONES, PAIR, deployment, planned, service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]

EXAMPLE = "**Some digests are examples and name no real image.**"


def page(tree: Mapping[str, Artifact]) -> str:
    return tree["PLAN.md"].content.decode()


def rows(text: str) -> list[list[str]]:
    """Give the cells of all table rows."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("|")
    ]


def test_a_hosts_memory_with_every_term(rendered: Rendered) -> None:
    facts = {row[0]: row[1] for row in rows(page(rendered(deployment()))) if len(row) == 2}
    assert facts["memory"] == "119.0 GiB"
    assert facts["taken by engines at start"] == "101.1 GiB"
    assert facts["left for everything else"] == "17.9 GiB"
    assert (facts["address"], facts["driver"]) == ("192.168.1.11", "580")


def test_what_is_not_known_says_so(rendered: Rendered) -> None:
    text = deployment("set: {gpu_memory_utilization: null}", host="spark-01: {address: 192.168.1.11, driver: null}")
    facts = {row[0]: row[1] for row in rows(page(rendered(text))) if len(row) == 2}
    assert facts["taken by engines at start"] == facts["left for everything else"] == "unknown"
    assert facts["driver"] == "not checked"


def test_each_unit_has_a_row_and_its_whole_command(rendered: Rendered) -> None:
    text = page(rendered(deployment("description: 'For | the _team_'")))
    assert [row for row in rows(text) if row[0] == "sparkiac-chat"] == [
        [
            "sparkiac-chat",
            r"For \| the \_team\_",
            "192.168.1.11:8001",
            "101.1 GiB",
            f"nvcr.io/nvidia/vllm@{ONES}",
        ]
    ]
    [chat] = planned(deployment()).hosts[0].containers
    words = [line.removeprefix("    ") for line in text.splitlines() if line.startswith("    ")]
    assert words == list(chat.argv)
    assert "Image as written: `nvcr.io/nvidia/vllm:26.04-py3`." in text
    assert "Ready within 1200 s of its start, stopped within 120 s." in text


def test_what_has_no_port_has_an_empty_cell(rendered: Rendered) -> None:
    [row] = [row for row in rows(page(rendered(service()))) if row[0] == "sparkiac-asr"]
    assert row[2:4] == ["", "unknown"]


def test_a_host_that_runs_nothing_has_no_table_of_units(rendered: Rendered) -> None:
    text = page(rendered("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n"))
    assert "## spark-01" in text
    assert "| unit |" not in text


def test_hosts_come_in_order(rendered: Rendered) -> None:
    headings = [line for line in page(rendered(PAIR)).splitlines() if line.startswith("#")]
    assert headings == ["# Plan of pair", "## spark-01", "### sparkiac-big", "## spark-02", "### sparkiac-big"]


def test_example_digests_are_marked() -> None:
    from sparkiac.render import summary  # noqa: PLC0415  beside the fixture's whole tree

    marked = planned(deployment(), locked=LOCK.replace("version: 1", "version: 1\nexample: true"))
    assert EXAMPLE in summary.render(marked).content.decode()
    assert EXAMPLE not in summary.render(planned(deployment())).content.decode()


@pytest.mark.parametrize(
    ("size", "text"), [(None, "unknown"), (0, "0.0 GiB"), (1 << 30, "1.0 GiB"), (-1 << 30, "-1.0 GiB")]
)
def test_sizes_for_people(size: int | None, text: str) -> None:
    assert gib(size) == text


def test_a_template_never_prints_nothing_for_a_value_it_does_not_know() -> None:
    with pytest.raises(Exception, match="is undefined"):
        fill("PLAN.md.j2", {"name": "lab"})
