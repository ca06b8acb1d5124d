"""Findings with one cause are one text: of one deployment, of alike hosts, and what a lock settles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.report import Finding, Loc, Mark, Severity
from sparkiac.words.findings import alike, differences

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

HOSTS = 40
VARIABLES = [f"VLLM_FORK_{letter}" for letter in "ABCDEFGHIJKLMNOPQR"]
FORK = "acme/vllm-fork:7"
FILES = 12
"""Lines of the files of a new fleet."""
SCREEN = 70
"""Lines of the findings of a fleet of forty alike hosts and three deployments of forks."""


def deployment(name: str, host: int, image: str, share: float, variables: list[str]) -> str:
    return f"""
  {name}:
    recipe: base/single-spark
    model: example/model
    image: {image}
    hosts: spark-{host:02}
    port: 8000
    set: {{gpu_memory_utilization: {share}, trust_remote_code: true}}
    env: {json.dumps(dict.fromkeys(variables, "1"))}"""


@pytest.fixture
def fleet(folder: Path) -> Path:
    """Write an inventory of forty hosts; on all but three the same server."""
    hosts = "".join(f"\n  spark-{at:02}: {{address: 192.168.1.{at + 10}}}" for at in range(1, HOSTS + 1))
    servers = [
        deployment(f"embed-{at:02}", at, "vllm/vllm-openai:v0.28.0", 0.9, ["VLLM_ATTENTION_BACKEND"])
        for at in range(1, HOSTS - 2)
    ]
    forks = {"chat": VARIABLES, "code": VARIABLES[:2], "agent": VARIABLES[:2]}
    servers += [
        deployment(name, HOSTS - at, FORK, 0.5, variables) for at, (name, variables) in enumerate(forks.items())
    ]
    path = folder / "fleet.yaml"
    head = f"name: fleet\ndefaults: {{model_store: /srv/models}}\nhosts:{hosts}\ndeployments:"
    path.write_text(f"{head}{''.join(servers)}\n")
    return path


def blocks(text: str) -> list[list[str]]:
    """Return the lines of each finding."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("fleet.yaml:"):
            found.append([])
        if found:
            found[-1].append(line)
    return found


def block(text: str, code: str) -> list[str]:
    [found] = [each for each in blocks(text) if f" {code} " in each[0]]
    return found


def findings(cli: Cli) -> list[dict[str, Any]]:
    outcome = cli("check", "fleet.yaml", "--allow-unlocked", "--format", "json")
    return list(json.loads(outcome.out)["findings"])


@pytest.mark.usefixtures("fleet")
def test_forty_alike_hosts_are_one_text_with_the_first_line(cli: Cli) -> None:
    text = cli("check", "fleet.yaml", "--allow-unlocked").err
    found = [each for each in blocks(text) if "VLLM_ATTENTION_BACKEND" in each[0]]
    assert len(found) == 1
    assert found[0][3] == "  all 37: embed-01…embed-37"
    assert len(text.splitlines()) <= SCREEN


@pytest.mark.usefixtures("fleet")
def test_what_a_lock_settles_is_one_text(cli: Cli) -> None:
    text = cli("check", "fleet.yaml", "--allow-unlocked").err
    [line] = [each for each in text.splitlines() if "IMG003" in each and "MDL001" in each]
    number = sum(each["hint"].startswith("run sparkiac lock") for each in findings(cli))
    assert number > 2 * HOSTS
    assert line == f"  all {number}: ENT100, IMG003, MDL001; agent, chat, code, embed-01…embed-37"
    assert text.count("run sparkiac lock") == 1


@pytest.mark.usefixtures("fleet")
def test_each_finding_keeps_its_place_for_other_programs(cli: Cli) -> None:
    every = findings(cli)
    assert len({each["line"] for each in every if each["code"] == "MDL001"}) == HOSTS
    sarif = json.loads(cli("check", "fleet.yaml", "--allow-unlocked", "--format", "sarif").out)
    assert len(sarif["runs"][0]["results"]) == len(every)
    annotations = cli("check", "fleet.yaml", "--allow-unlocked", "--format", "github")
    assert len(annotations.out.splitlines()) == len(every)


@pytest.mark.usefixtures("fleet")
def test_generate_and_the_page_of_plan_show_the_same_texts(cli: Cli) -> None:
    text = cli("check", "fleet.yaml", "--allow-unlocked").err
    assert cli("generate", "fleet.yaml", "--allow-unlocked", "--check").err.startswith(text)
    page = cli("plan", "fleet.yaml", "--format", "html").out
    assert page.count("<b>MDL001</b>") == 1
    assert "all 37: embed-01…embed-37" in page


@pytest.mark.usefixtures("fleet")
def test_the_files_of_alike_hosts_are_one_line(cli: Cli) -> None:
    lines = cli("generate", "fleet.yaml", "--allow-unlocked").out.splitlines()
    assert "+ generated/fleet/hosts/spark-01…spark-40/: 6 files" in lines
    assert len(lines) <= FILES
    path = Path("fleet.yaml")
    text = path.read_text()
    path.write_text(text.replace('    env: {"VLLM_ATTENTION_BACKEND": "1"}', ""))
    lines = cli("generate", "fleet.yaml", "--allow-unlocked").out.splitlines()
    assert "~ generated/fleet/hosts/spark-01…spark-37/etc/sparkiac/embed-01…embed-37/compose.yaml" in lines
    path.write_text(text.replace('    env: {"VLLM_ATTENTION_BACKEND": "1"}', "", 36))
    lines = cli("generate", "fleet.yaml", "--allow-unlocked").out.splitlines()
    assert "~ generated/fleet/hosts/spark-37/etc/sparkiac/embed-37/compose.yaml" in lines


def finding(message: str, line: int = 1, **more: Any) -> Finding:  # noqa: ANN401  the fields of a finding
    loc = Loc("lab.yaml", Mark(line, 1, line, 2), "")
    return Finding("ENV101", "unknown-variable", Severity.WARNING, message, loc, **more)


def test_one_cause_in_one_deployment_is_one_text() -> None:
    found = [finding(f"{name} of chat is unknown", subject=("chat",), setting=name) for name in VARIABLES]
    [together] = alike(found)
    assert differences(together) == f"all {len(VARIABLES)}: VLLM_FORK_A, VLLM_FORK_B, VLLM_FORK_C, … VLLM_FORK_R"


def test_deployments_are_together_only_with_the_same_settings() -> None:
    pairs = [("chat", "A"), ("chat", "B"), ("code", "A"), ("agent", "A"), ("agent", "B")]
    found = [finding(f"{setting} of {name} is unknown", subject=(name,), setting=setting) for name, setting in pairs]
    assert [differences(each) for each in alike(found) if len(each) > 1] == ["all 4: agent, chat; A, B"]
    assert len(alike(found)) == 2


@pytest.mark.parametrize("more", [{"hint": "write b"}, {"origin": None, "subject": ("chat",), "setting": "x"}])
def test_a_text_that_differs_in_more_than_names_is_shown(more: dict[str, Any]) -> None:
    first = finding("x of chat is 1", subject=("chat",), setting="x")
    assert len(alike([first, finding("x of chat is 2", **more)])) == 2


def test_the_same_text_at_several_lines_names_the_lines() -> None:
    [together] = alike([finding("x of chat", line, subject=("chat",), setting="x") for line in (3, 4, 5, 9)])
    assert differences(together) == "all 4: lines 3…5, 9"


def test_faults_of_the_text_itself_are_shown_one_by_one() -> None:
    """They are mended at their lines."""
    assert len(alike([finding("an unknown key", line) for line in (3, 4)])) == 2
