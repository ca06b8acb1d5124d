"""What became of the codes about memory, hosts, networks, groups, units, secrets and monitoring."""

from __future__ import annotations

from typing import Final

_HELD: Final = "tests/rules/test_held_fleet.py"
_UNIT: Final = "tests/render/test_hosts.py::test_the_unit_of_a_deployment"

COVERED: Final = {
    "MEM001": "rule",
    "MEM003": "rule",
    "MEM004": "merged into MEM006",
    "MEM006": "rule",
    "MEM007": (
        "by construction: tests/catalog/test_reference.py"
        "::test_a_fragment_gives_exactly_the_findings_that_its_file_names"
    ),
    "MEM008": f"by construction: {_HELD}::test_no_container_has_a_cap_of_memory",
    "MEM010": "rule",
    "MEM011": "merged into ENV101",
    "MEM016": "rule",
    "MEM019": "merged into MEM003",
    "MEM020": "dropped: stock builds serve the model since August 2026, and what others lack is not known",
    "MEM022": f"by construction: {_HELD}::test_sizes_in_gb_and_gib_are_bytes_at_once",
    "MEM023": "by construction: tests/render/test_summary.py::test_a_hosts_memory_with_every_term",
    "HST005": "rule",
    "HST007": "rule",
    "HST008": "rule",
    "HST012": "rule",
    "HST013": "rule",
    "NET001": "rule",
    "NET002": (
        "by construction: tests/plan/test_topology.py::test_the_host_is_made_known_only_to_a_container_that_asks_it"
    ),
    "NET003": (
        "by construction: tests/plan/test_topology.py::test_just_those_containers_share_a_network_that_take_part"
    ),
    "NET004": "by construction: tests/plan/test_open_webui.py::test_what_it_is_told_besides",
    "NET005": "rule",
    "NET006": "merged into NET100",
    "NET007": "rule",
    "MN001": (
        "by construction: tests/plan/test_groups.py::test_nodes_share_their_hosts_network_and_reach_its_rdma_devices"
    ),
    "MN002": "rule",
    "MN003": "rule",
    "MN004": "rule",
    "MN005": "rule",
    "MN006": "rule",
    "MN007": (
        "by construction: tests/plan/test_groups.py::test_the_commands_differ_in_rank_address_and_headless_alone"
    ),
    "MN009": "rule",
    "MN010": "merged into FLG010",
    "MN011": "merged into FLG010",
    "MN012": "by construction: tests/builds/test_model.py::test_a_short_commit_or_a_name_is_refused",
    "MN013": "rule",
    "MN014": "dropped: builds of vLLM main serve the model without the pull request",
    "MN017": "by construction: tests/plan/test_order.py::test_the_nodes_of_a_group_start_at_the_same_time",
    "MN018": f"by construction: {_HELD}::test_a_recipe_of_another_tool_is_not_an_inventory",
    "SYS001": f"by construction: {_UNIT}",
    "SYS002": "rule",
    "SYS003": (
        "by construction: tests/render/test_compose.py::test_systemd_alone_supervises_and_nothing_is_fetched_or_created"
    ),
    "SYS004": (
        "by construction: tests/host/test_supervise.py::test_what_a_killed_supervisor_left_is_removed_before_the_start"
    ),
    "SYS005": f"by construction: {_HELD}::test_a_unit_starts_after_docker_and_the_network",
    "SYS006": f"by construction: {_HELD}::test_no_path_waits_for_a_shell",
    "SYS007": "by construction: tests/render/test_programs.py::test_the_unit_of_a_program",
    "SEC001": "merged into SEC003",
    "SEC002": "rule",
    "SEC003": "by construction: tests/source/test_literals.py::test_a_literal_is_shown_nowhere",
    "SEC004": "rule",
    "SEC005": "rule",
    "SEC006": "rule",
    "SEC007": "rule",
    "MON002": f"by construction: {_HELD}::test_no_query_uses_a_gauge_that_no_server_has",
    "MON004": "rule",
    "MON005": "by construction: tests/plan/test_kinds.py::test_port_and_health_are_the_kinds_own",
    "MON008": "rule",
    "BEN005": "symptom",
    "BEN007": f"by construction: {_HELD}::test_contested_figures_stand_side_by_side_with_their_sources",
}
