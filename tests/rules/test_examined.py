"""What several rules read of a plan is computed once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import rules
from sparkiac.engines import vllm_check
from sparkiac.plan import build
from sparkiac.rules.subject import Subject
from tests.plan.fleets import ONES, deployment, resolved

if TYPE_CHECKING:
    import pytest

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.plan import Container, HostPlan

_VLLM = deployment(f"image: vllm/vllm-openai:v0.24.0@{ONES}", "set: {max_num_sequences: 8, max_model_len: many}")


def test_the_options_of_a_deployment_are_compared_once_with_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    found = resolved(_VLLM)
    compared = []
    check = vllm_check.check

    def counted(options: dict[str, object], known: Interface) -> tuple[vllm_check.Fault, ...]:
        compared.append(sorted(options))
        return check(options, known)

    monkeypatch.setattr(vllm_check, "check", counted)
    codes = {finding.code for finding in rules.check(build(found), found)}
    assert {"FLG101", "FLG102"} <= codes
    assert len(compared) == 1


def test_all_facts_read_the_same_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    found = resolved(_VLLM)
    made = []

    def counted(host: HostPlan, container: Container) -> Subject:
        made.append(container.name)
        return Subject(host, container)

    monkeypatch.setattr(rules, "Subject", counted)
    rules.check(build(found), found)
    assert len(made) == 1
