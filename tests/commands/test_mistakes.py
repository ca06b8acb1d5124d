"""Common mistakes of users, and the messages that they get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]


def test_an_unclosed_quote_is_reported_where_it_opens(folder: Path, cli: Cli) -> None:
    text = deployment().replace("192.168.1.11", '"192.168.1.11', 1) + 'services:\n  x: {description: "later"}\n'
    (folder / "lab.yaml").write_text(text)
    line = next(number for number, each in enumerate(text.split("\n"), 1) if '"192' in each)
    found = cli("check", "lab.yaml")
    assert f"lab.yaml:{line}:" in found.err
    assert "the quoted text that begins here ends in line" in found.err
    assert "close the quotation mark on this line" in found.err


def test_a_lock_of_another_version_names_the_remedy(folder: Path, cli: Cli) -> None:
    (folder / "lab.yaml").write_text(deployment())
    (folder / "lab.lock.yaml").write_text(LOCK.replace("version: 1", "version: 99", 1))
    found = cli("check", "lab.yaml")
    assert (found.code, "version: must be 1, not the number 99" in found.err) == (2, True)
    assert "another version of sparkiac: use that version" in found.err


def test_a_compose_file_is_one_finding_that_names_import(folder: Path, cli: Cli) -> None:
    (folder / "web.yaml").write_text("services:\n  web:\n    image: nginx:1\n")
    found = cli("check", "web.yaml")
    assert found.code == 2
    assert "web.yaml:1:1: error INV003 missing-key: not an inventory: the file is in compose format" in found.err
    assert "`sparkiac import web.yaml` converts it to a draft" in found.err
    assert found.err.endswith("1 error\n")


def test_an_inventory_without_hosts_is_not_taken_for_a_compose_file(folder: Path, cli: Cli) -> None:
    (folder / "lab.yaml").write_text("name: lab\nservices:\n  web:\n    kind: container\n    image: nginx:1\n")
    assert "the top level needs the key 'hosts'" in cli("check", "lab.yaml").err


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("port: 8001", "port: 8001\n    bind: LAN", "not the text 'LAN'", "did you mean 'lan'?"),
        (
            "port: 8001",
            "port: 8001\n    set: {gpu_memory_utilization: 85}",
            "must be a number above 0 and at most 1, not 85",
            "for 85 %, write 0.85",
        ),
        (
            "{address: 192.168.1.11}",
            "{address: 192.168.1.11, memory: {total_gib: 121856}}",
            "total_gib: must be at most 4096, not 121856",
            "the unit is GiB: 121856 MiB are 119 GiB",
        ),
    ],
)
def test_a_value_in_another_form_gets_the_right_one(  # noqa: PLR0913, PLR0917  a table
    folder: Path, cli: Cli, old: str, new: str, message: str, hint: str
) -> None:
    text = deployment()
    assert old in text
    (folder / "lab.yaml").write_text(text.replace(old, new, 1))
    found = cli("check", "lab.yaml")
    assert found.code == 2
    assert message in found.err
    assert f"hint: {hint}" in found.err


@pytest.mark.usefixtures("lab")
def test_several_inventories_are_checked_one_by_one(cli: Cli) -> None:
    found = cli("check", "lab.yaml", "other.yaml")
    assert (found.code, found.out) == (2, "")
    assert "Error: check takes one inventory; run it once for each" in found.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("option", [("--format", "json"), ("--format=json",)])
def test_a_usage_error_is_json_where_json_is_requested(cli: Cli, option: tuple[str, ...]) -> None:
    found = cli("check", "nofile", *option)
    assert (found.code, found.err) == (2, "")
    assert json.loads(found.out)["error"].startswith("nofile does not exist")
