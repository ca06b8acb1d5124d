"""What the pages on verification and on other tools say of sparkiac: each row names the tests that show it."""

from __future__ import annotations

import re
from typing import Final

import pytest

from sparkiac import catalog
from sparkiac.host.probe.steps import STEPS
from sparkiac.rules.pages import pages
from tests.conftest import ROOT, is_a_test

VERIFIED: Final = {
    "apply, rollback, drift, upgrade, uninstall": (
        "tests/e2e/test_apply.py::test_second_apply_changes_nothing",
        "tests/e2e/test_maintenance.py::test_rollback_to_any_kept_generation_needs_no_registry",
        "tests/e2e/test_maintenance.py::test_drift_shows_an_edited_file_and_an_apply_saves_it",
        "tests/e2e/test_maintenance.py::test_upgrade_takes_a_new_image_and_prunes",
        "tests/e2e/test_power_cut.py::test_a_host_that_loses_its_power_at_any_step_serves_its_committed_generation",
    ),
    "recipes of others": (
        "tests/commands/test_recipe_sources.py::test_a_repository_is_fetched_over_https",
        "tests/commands/test_oci_sources.py::test_an_artifact_is_fetched_pinned_restored_and_used_offline",
    ),
    "engine options": (
        "tests/catalog/test_interfaces.py::test_each_minor_release_is_there",
        "tests/catalog/test_interfaces.py::test_the_files_are_those_of_the_pinned_sources",
    ),
    "memory": (
        "tests/memory/test_recorded.py::test_seven_networks_and_five_releases_are_recorded",
        "tests/memory/test_public_logs.py::test_the_pool_of_a_log_is_not_below_the_smallest_predicted_one",
    ),
    "speed": ("tests/memory/test_speed.py::test_a_step_reads_weights_keys_values_and_states",),
    "the prober": (
        "tests/host/test_probe_faults.py::test_at_the_start",
        "tests/host/test_probe_faults.py::test_at_an_apply_and_at_verify",
    ),
    "groups with vLLM": (
        "tests/e2e/test_group.py::test_the_first_apply_forms_the_group",
        "tests/e2e/test_group.py::test_both_hosts_switch_together",
    ),
    "groups with Ray": (
        "tests/e2e/test_ray_group.py::test_the_first_apply_forms_the_group",
        "tests/e2e/test_ray_group.py::test_only_the_other_node_reaches_the_ports_of_ray",
        "tests/e2e/test_ray_group.py::test_when_a_container_is_killed_both_nodes_start_again",
        "tests/e2e/test_ray_group.py::test_when_a_host_reboots_the_group_comes_back",
        "tests/e2e/test_ray_group.py::test_a_switch_ends_with_one_generation_on_both",
    ),
    "groups with llama.cpp": ("tests/real/test_llama_rpc.py::test_a_leader_waits_uses_its_worker_and_notices_its_end",),
    "groups with SGLang": ("tests/engines/test_sglang.py::test_the_words_in_order",),
    "links, netplan": (
        "tests/render/test_netplan.py::test_netplan_accepts_every_file",
        "tests/commands/test_fabric_namespaces.py::test_a_good_pair_is_measured_and_recorded",
        "tests/e2e/test_network.py::test_it_sets_addresses_and_mtu_and_nothing_else",
        "tests/e2e/test_network.py::test_a_host_that_is_cut_off_returns_by_itself",
    ),
    "monitoring": (
        "tests/monitoring/test_rules.py::test_prometheus_reads_its_files",
        "tests/monitoring/test_alertmanager.py::test_amtool_reads_it",
        "tests/e2e/test_monitoring.py::test_a_message_says_that_a_server_is_gone_and_that_it_is_back",
    ),
    "Kubernetes": (
        "tests/consumers/test_kubernetes.py::test_invalid_objects_are_found",
        "tests/consumers/test_kubernetes.py::test_kubectl_builds_the_kustomization",
    ),
    "`bench`": ("tests/commands/test_bench.py::test_single",),
    "who reaches a port": (
        "tests/e2e/test_doors.py::test_the_first_apply",
        "tests/e2e/test_doors.py::test_each_rule_is_needed",
    ),
    "what a server or an agent connects to": (
        "tests/host/test_doors.py::test_a_confined_container_answers_and_connects_to_nothing",
        "tests/host/test_doors.py::test_a_program_of_the_host_connects_to_what_its_list_names",
        "tests/e2e/test_doors.py::test_an_agent_connects_to_its_model_only",
    ),
    "the gateway": (
        "tests/gateway/test_gateway.py::test_nothing_fails_while_a_server_drains",
        "tests/e2e/test_gateway.py::test_the_hosts_are_rolled_to_a_new_version",
        "tests/e2e/test_gateway.py::test_the_key_of_the_servers_is_rotated",
        "tests/e2e/test_gateway.py::test_no_canary_is_found_on_a_host",
    ),
    "`os`: kernels, their parameters, drivers and Docker": (
        "tests/host/test_kernel.py::test_a_power_cut_leaves_the_host_on_one_of_the_two_sets",
        "tests/host/test_kernel.py::test_a_parameter_is_tried_once_then_kept_and_undone_when_its_declaration_goes",
        "tests/e2e/test_os.py::test_a_canary_that_fails_goes_back_and_no_other_host_changes",
        "tests/host/test_packages.py::test_what_does_not_pass_goes_back_without_a_network",
    ),
    "`turns`, `load_memory`": (
        "tests/host/test_switch_turns.py::test_day_night_day",
        "tests/e2e/test_turns.py::test_day_night_day",
        "tests/e2e/test_turns.py::test_a_load_that_succeeds_is_undone",
        "tests/host/test_load_memory_disk.py::test_the_read_ahead_of_a_disk_changes_and_is_restored",
        "tests/host/test_load_memory.py::test_a_start_changes_and_a_ready_unit_restores",
    ),
}
"""Part of docs/verified.md → the tests that verify it; what was done by hand has none."""
COMPARED: Final = {
    "first model on a fresh Spark": ("tests/e2e/test_tutorial.py::test_the_tutorial_ends_with_an_answer",),
    "several hosts as one": ("tests/e2e/test_tutorial.py::test_one_model_on_both",),
    "sets up SSH and links of hosts": ("tests/e2e/test_network.py::test_it_sets_addresses_and_mtu_and_nothing_else",),
    "builds images of the newest vLLM": (
        "tests/builds/test_checkout.py::test_the_commit_and_its_picks_are_what_is_built",
    ),
    "starts models on demand": ("tests/host/test_switch_turns.py::test_units_of_two_turns_never_run_together",),
    "one address for many models": (),
    "web interface": (
        "tests/commands/test_plan_formats.py::test_the_page_goes_to_standard_output_and_findings_to_the_other_one",
    ),
    "interface for other programs": ("tests/commands/test_plan_formats.py::test_json_has_the_proof_under_stable_keys",),
    "measures RDMA and NCCL on the links": (
        "tests/fleet/test_fabric_verify.py::test_ib_write_bw_and_nccl_measure_with_the_names_of_each_host",
    ),
    "published benchmarks to compare with": (),
    "upgrades DGX OS and firmware": ("tests/e2e/test_maintenance.py::test_driver_upgrades_and_reboots",),
    "runs on Windows": (),
    "generated files in Git, applied later": ("tests/e2e/test_tutorial.py::test_the_tutorial_ends_with_an_answer",),
    "images pinned by digest": (
        "tests/lock/test_command.py::test_a_moved_tag_and_a_moved_branch_change_nothing_until_upgrade",
    ),
    "models pinned by commit": ("tests/host/test_stage_http.py::test_a_wrong_content_is_refused_and_not_kept",),
    "options checked against the vLLM release": (
        "tests/rules/test_engine_options.py::test_the_same_is_an_error_where_it_is",
    ),
    "memory of everything on a host added up": (
        "tests/memory/test_budget.py::test_the_memory_of_everything_on_a_host_is_summed",
    ),
    "goes back if a new version does not answer": (
        "tests/host/test_switch.py::test_a_bad_generation_goes_back_as_a_whole",
    ),
    "shows what was changed on a host by hand": (
        "tests/e2e/test_maintenance.py::test_drift_shows_an_edited_file_and_an_apply_saves_it",
    ),
}
"""What docs/comparison.md says sparkiac does → the tests that show it; none where sparkiac does not have it."""


_PAGES: Final = "tests/rules/test_pages.py::test_the_bad_example_has_the_finding_at_one_of_its_lines"
_GATE: Final = "tests/host/test_probe_faults.py::test_at_an_apply_and_at_verify"
_STEPS: Final = "tests/host/test_probe_steps.py::test_what_fails_a_step"
_LINES: Final = "tests/catalog/test_symptoms.py::test_each_alternative_of_a_pattern_finds_a_line_of_its_snippet"
TRAPS: Final = {
    "01": ("tests/host/test_probe_answers.py::test_these_are_right_or_not_proven_wrong",),
    "02": (_GATE, "tests/host/test_probe_steps.py::test_what_is_no_proof_of_a_fault"),
    "07": (),
    "08": ("tests/host/test_preflight_machine.py::test_an_image_that_requires_a_newer_driver", _LINES),
    "13": (_PAGES,),
    "19": (_PAGES, _GATE),
    "21": (_PAGES,),
    "23": (_GATE,),
    "26": (_GATE,),
    "27": (_GATE, _PAGES, _LINES),
    "28": ("tests/host/test_probe_steps.py::test_two_requests_at_once_that_disturb_each_other",),
    "47": ("tests/host/test_probe_steps.py::test_a_server_that_keeps_every_promise", _PAGES),
    "53": ("tests/host/test_supervise.py::test_what_a_killed_supervisor_left_is_removed_before_the_start", _LINES),
    "56": (_PAGES, _GATE),
    "57": (_PAGES,),
    "64": (_GATE,),
    "70": (_PAGES, _GATE),
    "71": (_LINES, _PAGES),
    "81": ("tests/host/test_preflight_start.py::test_memory_that_comes_back_is_waited_for",),
    "90": (_PAGES, _LINES),
    "98": (_PAGES, "tests/memory/test_budget.py::test_more_requests_take_more_logits_and_more_graphs"),
    "104": ("tests/e2e/test_maintenance.py::test_drift_shows_an_edited_file_and_an_apply_saves_it",),
    "109": (_PAGES, "tests/host/test_probe_steps.py::test_drafts_that_are_never_accepted"),
    "112": (_GATE,),
    "114": ("tests/host/test_preflight_fabric.py::test_the_index_is_that_of_the_address",),
    "115": ("tests/catalog/test_symptoms.py::test_a_pattern_does_not_find_a_similar_line",),
    "117": (),
    "118": (_LINES, "tests/fleet/test_diagnosis.py::test_a_rank_waits_only_if_nothing_of_the_engine_follows"),
    "119": (
        "tests/fleet/test_diagnosis.py::test_the_error_of_one_rank_is_the_cause_of_the_lost_connection_of_the_other",
    ),
    "120": (),
    "121": ("tests/render/test_escape_shell.py::test_shells_read_each_word_as_it_was",),
    "122": (_GATE,),
    "123": ("tests/e2e/test_supervision.py::test_an_orderly_stop_leaves_nothing",),
    "124": (),
}
"""Trap in docs/verified.md → the tests that show what sparkiac does; none where it does nothing."""


def rows(page: str, head: str) -> list[str]:
    """Return the first cells of the table that begins with a head."""
    return [cells[0] for cells in table(page, head)]


def table(page: str, head: str) -> list[list[str]]:
    """Return the cells of each row of the table that begins with a head."""
    found = (ROOT / f"docs/{page}.md").read_text().partition(f"\n{head}")[2].partition("\n\n")[0]
    lines = [line for line in found.splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize(
    ("page", "head", "shown"),
    [
        ("verified", "| part |", VERIFIED),
        ("verified", "| trap |", TRAPS),
        ("comparison", "| | sparkrun |", COMPARED),
    ],
)
def test_every_row_names_its_tests(page: str, head: str, shown: dict[str, tuple[str, ...]]) -> None:
    assert rows(page, head) == list(shown)
    wrong = [test for tests in shown.values() for test in tests if not is_a_test(test)]
    assert wrong == []


@pytest.mark.parametrize(("trap", "what", "verdict", "by"), table("verified", "| trap |"))
def test_what_settles_a_trap_exists(trap: str, what: str, verdict: str, by: str) -> None:
    assert what
    assert verdict in {"refused", "found", "named", "avoided", "not ours"}
    assert bool(TRAPS[trap]) == (verdict != "not ours")
    symptoms, alerts = {each.code for each in catalog.symptoms()}, catalog.alert_groups().values()
    codes = set(re.findall(r"\b[A-Z]{2,3}[0-9]{3}\b", by))
    assert codes <= {*symptoms, *pages()}
    steps = set(re.findall(r"`([^`]+)`", by)) - {"bench", "bench compare", "drift", "NCCL_IB_GID_INDEX"}
    assert steps <= set(STEPS)
    assert set(re.findall(r"alert (\w+)", by)) <= {alert.name for group in alerts for alert in group.alerts}
    assert {
        "refused": codes - symptoms,
        "found": steps,
        "named": codes & symptoms,
    }.get(verdict, {"no code"})
