"""`sparkiac audit`: ports, privileges, secrets and the findings about security, of an inventory alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from sparkiac.cli import cli
from tests.plan.fleets import ONES, deployment

if TYPE_CHECKING:
    from pathlib import Path

SOCKET = "container: {read_only: false, mounts: {/s: {source: /run/docker.sock, read_only: false}}}"


def audited(tmp_path: Path, *words: str) -> str:
    inventory = tmp_path / "lab.yaml"
    inventory.write_text(deployment("api_key: {secret: k}", f"image: vllm/vllm-openai:v0.33.0@{ONES}", SOCKET))
    result = CliRunner().invoke(cli, ["audit", str(inventory), *words], standalone_mode=False)
    assert result.return_value == 0, result.output
    return result.stdout


def test_the_page_has_each_part(tmp_path: Path) -> None:
    page = " ".join(audited(tmp_path).split())
    assert "spark-01 8001 chat the network of 192.168.1.11 k" in page
    assert "chat /invocations /generative_scoring" in page
    assert "can change its root file system" in page
    assert "SEC008: chat can start containers as root on its host" in page


def test_errors_are_mentioned_and_the_exit_code_is_that_of_check(tmp_path: Path) -> None:
    inventory = tmp_path / "lab.yaml"
    inventory.write_text(deployment("set: {max_model_len: -5}"))
    result = CliRunner().invoke(cli, ["audit", str(inventory)], standalone_mode=False)
    assert (result.return_value, "1 error" in result.stderr, "FLG102" in result.stderr) == (1, True, True)
    inventory.write_text(deployment())
    assert CliRunner().invoke(cli, ["audit", str(inventory)], standalone_mode=False).return_value == 0


def test_the_data_have_the_same(tmp_path: Path) -> None:
    data = json.loads(audited(tmp_path, "--format", "json"))
    assert [(each["port"], each["key"]) for each in data["ports"]] == [("8001", "k")]
    assert data["secrets"] == [{"secret": "k", "read_by": "chat", "hosts": "spark-01"}]
    assert {each["code"] for each in data["findings"]} == {"SEC008"}
    assert data["overdue"] == []
    assert "/run/docker.sock" in data["privileges"][0]["may"]


@pytest.mark.parametrize(("due", "overdue"), [("2026-01-31", ["spark-01"]), ("2099-12-31", [])])
def test_pins_whose_review_was_due_and_a_server_without_a_key_are_there(
    tmp_path: Path, due: str, overdue: list[str]
) -> None:
    inventory = tmp_path / "lab.yaml"
    inventory.write_text(deployment("bind: lan"))
    pins = f"{{sets: {{a: {{driver: '580.142', since: '2026-01-01', review_by: '{due}'}}}}, members: {{spark-01: a}}}}"
    inventory.with_name("lab.lock.yaml").write_text(f"version: 1\nimages: {{}}\nhosts: {pins}\n")
    result = CliRunner().invoke(cli, ["audit", str(inventory), "--format", "json"], standalone_mode=False)
    data = json.loads(result.stdout)
    assert [each["host"] for each in data["overdue"]] == overdue
    assert {each["code"] for each in data["findings"]} == {"SEC100"}
