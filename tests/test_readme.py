"""README's list of what sparkiac does: each line names the tests that show it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.console import run
from sparkiac.resolve import catalogued
from tests.conftest import ROOT, is_a_test

if TYPE_CHECKING:
    from pathlib import Path

HEADING: Final = "## What it does that a script does not"
SHOWN: Final = {
    (
        "The same input gives the same bytes on every machine: the output contains no date and no name of the "
        "machine that generates it, and does not depend on locale or time zone."
    ): (
        "tests/test_determinism.py::test_surroundings_do_not_show",
        "tests/test_determinism.py::test_nothing_of_the_machine_shows",
    ),
    (
        "An error has its `file:line:column` and says what to do. One run reports all errors of keys, values and "
        "names, and what the rules find in the deployments and services that do not depend on such an error "
        "([docs/checks.md](docs/checks.md)). Bad input writes nothing."
    ): (
        "tests/source/test_validation.py::test_place_and_hint",
        "tests/source/test_gate.py::test_both_stages_speak_at_once",
        "tests/test_pipeline.py::test_faults_of_the_file_are_shown_together_and_before_those_of_the_rules",
        "tests/bad/test_one_run.py::test_errors_behind_two_stages_are_found",
        "tests/commands/test_generate.py::test_json_shows_why_nothing_was_written",
    ),
    (
        "The command of vLLM depends on the image: `vllm serve` is added unless the image's entrypoint already is "
        "`vllm serve`."
    ): (
        "tests/plan/test_deployments.py::test_the_command_says_vllm_serve_where_the_entrypoint_does_not",
        "tests/plan/test_deployments.py::test_the_command_starts_with_the_model_where_the_entrypoint_is_vllm_serve",
        "tests/e2e/test_apply.py::test_command_in_the_container_is_the_planned_one",
    ),
    (
        "A model's unit is ready when the model has answered a request, not when its container runs. A server that "
        "hangs is restarted in a new container."
    ): (
        "tests/host/test_probe.py::test_it_serves_and_gets_one_test_request",
        "tests/host/test_supervise.py::test_ready_when_healthy_and_once",
        "tests/e2e/test_apply.py::test_hung_servers_are_replaced",
    ),
    (
        "A model server has no capabilities, read-only weights and, unless its recipe or the inventory turns it off, a "
        "read-only file system. vLLM runs offline (`HF_HUB_OFFLINE=1`)."
    ): (
        "tests/render/test_compose.py::test_every_container_is_confined",
        "tests/render/test_compose.py::test_a_deployment",
        "tests/e2e/test_apply.py::test_container_is_confined_and_keeps_its_key_to_itself",
    ),
    (
        "Secrets are references. Containers get their values as systemd credentials; no generated file contains a "
        "value."
    ): (
        "tests/source/test_literals.py::test_a_literal_is_shown_nowhere",
        "tests/render/test_compose.py::test_a_key_is_a_file_of_systemds_credentials",
        "tests/e2e/test_services.py::test_no_file_argument_or_unit_contains_a_key",
    ),
    (
        "`sparkiac secrets new` generates missing secrets in a file that Git ignores, mode 0600 or encrypted, and "
        "prints none."
    ): (
        "tests/commands/test_secrets.py::test_values_are_stored_for_their_owner_only_and_printed_nowhere",
        "tests/commands/test_secrets.py::test_git_ignores_the_directory",
        "tests/commands/test_secrets.py::test_a_vault_is_encrypted_read_and_completed",
    ),
    (
        "`sparkiac add` and `remove` change one deployment in your file and keep all comments outside it. `add` "
        "proposes shares of the memory and contexts for a model that does not fit beside the others, and says what "
        "each of them loses."
    ): (
        "tests/commands/test_add.py::test_a_deployment_is_added_below_the_others_and_all_comments_stay",
        "tests/commands/test_add.py::test_a_removed_deployment_takes_its_own_lines_only",
        "tests/commands/test_add.py::test_shares_with_which_both_fit_are_proposed_and_not_written_without_an_answer",
        "tests/commands/test_add.py::test_what_cannot_fit_names_what_is_missing_and_what_would_fit",
    ),
    (
        "A host with the wrong driver, or a pin that is an example or missing, stops the whole play before "
        "anything is changed."
    ): (
        "tests/host/test_pins_role.py::test_a_tree_with_missing_pins_stops_in_its_first_task",
        "tests/host/test_preflight_role.py::test_one_host_that_fails_stops_the_other",
        "tests/e2e/test_apply.py::test_wrong_driver_stops_the_play_before_anything_changed",
    ),
    ("Errors in the published sources are corrected; each recipe lists its corrections and why."): (
        "tests/catalog/test_fidelity.py::test_what_a_recipe_corrects_is_what_differs",
    ),
    (
        "Each host switches by itself to a new version and goes back if the new version does not answer; hosts with a "
        "copy each of the same model are never down together."
    ): (
        "tests/host/test_switch.py::test_a_bad_generation_goes_back_as_a_whole",
        "tests/e2e/test_going_back.py::test_a_controller_that_dies_during_a_bad_switch",
        "tests/plan/test_rollout.py::test_hosts_that_serve_the_same_model_are_not_in_one_batch",
    ),
    (
        "Wrong answers are found, not only dead servers: health check, apply, `sparkiac verify` and the fleet timer "
        "ask for a known answer."
    ): (
        "tests/host/test_probe_faults.py::test_at_the_start",
        "tests/host/test_probe_faults.py::test_at_an_apply_and_at_verify",
        "tests/host/test_fleet_check.py::test_a_model_server_that_misbehaves",
    ),
    (
        "A second apply changes nothing. `generate` refuses to overwrite a generated file that was edited by hand, "
        "and names it."
    ): (
        "tests/e2e/test_apply.py::test_second_apply_changes_nothing",
        "tests/write/test_refusals.py::test_an_edited_file",
    ),
    (
        "A tag that moves upstream changes nothing until `sparkiac lock --upgrade`; `--dry-run` lists what would "
        "change."
    ): (
        "tests/lock/test_command.py::test_a_moved_tag_and_a_moved_branch_change_nothing_until_upgrade",
        "tests/lock/test_command.py::test_a_dry_run_shows_all_and_writes_nothing",
    ),
    (
        "Weights are downloaded by commit, once for all hosts that share a link. Interrupted downloads are "
        "resumed, and every file is hashed."
    ): (
        "tests/host/test_weights_role.py::test_the_first_host_downloads_and_the_others_take_from_it",
        "tests/host/test_stage_http.py::test_a_transfer_that_is_cut_goes_on_where_it_was",
        "tests/host/test_stage_http.py::test_a_wrong_content_is_refused_and_not_kept",
    ),
    (
        "The memory of each host is added up before anything starts. Unknown amounts are listed and never counted "
        "as zero."
    ): (
        "tests/memory/test_budget.py::test_the_memory_of_everything_on_a_host_is_summed",
        "tests/memory/test_budget.py::test_an_unknown_term_of_a_host_is_named_and_bounds_what_is_left",
        "tests/plan/test_memory_use.py::test_what_nobody_knows_is_never_nothing",
    ),
}
"""Line → the tests that show it."""


def claims() -> list[str]:
    section = (ROOT / "README.md").read_text().partition(HEADING)[2].partition("\n## ")[0]
    return [" ".join(line.split()) for line in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]


def test_each_line_is_listed_here_with_its_tests() -> None:
    assert claims() == list(SHOWN)


@pytest.mark.parametrize("test", [test for tests in SHOWN.values() for test in tests])
def test_what_shows_it_is_a_test(test: str) -> None:
    assert is_a_test(test)


def test_the_block_for_two_hosts_works_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    [block] = [each for each in blocks if "hosts: [spark-01, spark-02]" in each]
    [recipe] = re.findall(r"recipe: ([\w./-]+)", block)
    assert catalogued.named(recipe).entry.nodes == 2, "it is for two Sparks"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.yaml").write_text(block)
    assert run(["generate", "two.yaml", "--allow-unlocked", "--output", "out"]) == 0
    composed = [
        (tmp_path / f"out/hosts/spark-0{number}/etc/sparkiac/minimax/compose.yaml").read_text() for number in (1, 2)
    ]
    for rank, text in enumerate(composed):
        assert f'"--node-rank={rank}"' in text
        assert f'VLLM_HOST_IP: "192.168.177.1{rank + 1}"' in text
        assert 'NCCL_IB_HCA: "rocep1s0f1,roceP2p1s0f1"' in text


def test_the_first_block_needs_only_its_pins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home.yaml").write_text(block)
    assert run(["check", "home.yaml"]) == 1
    assert set(re.findall(r"(?:error|warning) ([A-Z]+\d+)", capsys.readouterr().err)) == {"MDL001"}
