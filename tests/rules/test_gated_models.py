"""MDL002: gated and private models of the lock, for which hosts need a token."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.report import Severity
from tests.plan.fleets import LOCK, PAIR, checked, deployment, said

FILES: Final = f"files: {{config.json: {{size_bytes: 7, sha256: '{'a' * 64}'}}}}"
WITH_HUB: Final = "hub: {api_key: {secret: hub_token}}\n"
DRAFT: Final = f'  example/draft: {{commit: "{"5" * 40}", gated: true, {FILES}}}\n'


def locked(fact: str, model: str = "example/model") -> str:
    """Write a lock with the files of a model and this fact."""
    return LOCK.replace(f"{model}: {{", f"{model}: {{{FILES}, {fact}")


def found(text: str, lock: str) -> list[str]:
    findings = [each for each in checked(text, locked=lock).report.findings if each.code == "MDL002"]
    assert {each.severity for each in findings} <= {Severity.WARNING}
    return said(tuple(findings))


@pytest.mark.parametrize(
    ("fact", "demand"),
    [
        (
            "gated: true, ",
            "is gated: to download it, spark-01 must send the token of an account that accepted the terms on",
        ),
        ("private: true, ", "is private: to download it, spark-01 must send the token of an account with access to"),
    ],
)
def test_a_model_that_hosts_cannot_download_is_found_where_it_is_named(fact: str, demand: str) -> None:
    assert found(deployment(), locked(fact)) == [
        f"MDL002 7:12 example/model {demand} https://huggingface.co/example/model, and the inventory names none"
    ]


def test_the_hint_says_what_to_write_and_which_command_takes_the_token() -> None:
    report = checked(deployment(), locked=locked("gated: true, ")).report
    [hint] = [each.hint for each in report.findings if each.code == "MDL002"]
    assert "`hub: {api_key: {secret: hub_token}}`" in hint
    assert "`sparkiac secrets new`" in hint


@pytest.mark.parametrize(
    ("text", "lock"),
    [
        (deployment(), locked("")),
        (deployment(), LOCK.replace("example/model: {", "example/model: {gated: true, ")),
        (WITH_HUB + deployment(), locked("gated: true, ")),
        ("hub: {url: 'https://hub.lan'}\n" + deployment(), locked("gated: true, ")),
    ],
    ids=["unknown", "not downloaded", "with a token", "a mirror"],
)
def test_nothing_is_found_without_need(text: str, lock: str) -> None:
    assert found(text, lock) == []


@pytest.mark.parametrize(("fact", "hub"), [("needs_token: true", ""), ("", ""), ("needs_token: true", WITH_HUB)])
def test_an_extra_file_of_a_gated_repository_is_found_at_its_path(fact: str, hub: str) -> None:
    url = "hf://example/parsers/own.py"
    lock = LOCK + f'files: {{"{url}": {{sha256: "{"b" * 64}", {fact}}}}}\n'
    text = deployment(f'container: {{files: {{/app/own.py: {{url: "{url}"}}}}}}')
    lines = found(hub + text, lock)
    demand = "is gated or private: to download it, spark-01 must send a token, and the inventory names none"
    assert lines == ([f"MDL002 10:38 {url} {demand}"] if fact and not hub else [])


def test_the_hosts_of_a_group_are_named_in_one_finding() -> None:
    [line] = found(PAIR, locked("gated: true, ", "example/big"))
    assert "to download it, spark-01, spark-02 must send" in line


def test_a_gated_drafter_is_found_at_its_setting() -> None:
    text = deployment("speculative: {method: draft_model, model: example/draft, num_speculative_tokens: 2}")
    [line] = found(text, LOCK + DRAFT)
    assert line.startswith("MDL002 10:18 example/draft is gated")
