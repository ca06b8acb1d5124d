"""What became of the codes about options, speculation, parsers and caches.

`rule`: a module of its own; `merged into X`: one rule by data; `by construction: test`: cannot happen, and shown there.
"""

from __future__ import annotations

from typing import Final

COVERED: Final = {
    "FLG001": "rule",
    "FLG002": "rule",
    "FLG003": "merged into FLG002",
    "FLG004": "rule",
    "FLG005": "rule",
    "FLG006": "rule",
    "FLG007": "rule",
    "FLG008": "rule",
    "FLG009": "rule",
    "FLG010": "rule",
    "FLG011": "rule",
    "FLG012": "rule",
    "FLG013": "rule",
    "FLG014": "rule",
    "FLG016": "rule",
    "FLG017": "rule",
    "FLG018": (
        "by construction: tests/catalog/test_nested_quoting.py::test_every_option_reaches_vllm_as_its_source_means_it"
    ),
    "FLG019": "rule",
    "FLG020": "rule",
    "FLG021": "rule",
    "FLG022": "rule",
    "FLG023": "rule",
    "FLG024": "merged into HST007",
    "FLG026": "by construction: tests/plan/test_openclaw.py::test_each_alias_is_a_provider_with_one_model",
    "FLG027": "rule",
    "FLG028": "rule",
    "FLG029": "rule",
    "SPD001": "rule",
    "SPD002": "rule",
    "SPD003": "merged into SPD002",
    "SPD004": "rule",
    "SPD005": "rule",
    "SPD006": "rule",
    "SPD008": "rule",
    "SPD009": "rule",
    "SPD010": "rule",
    "SPD011": "rule",
    "SPD012": "rule",
    "SPD014": "rule",
    "SPD016": "rule",
    "SPD018": "merged into SPD001",
    "SPD019": "rule",
    "SPD021": "by construction: tests/memory/test_sharing.py::test_a_pair_by_hand",
    "API001": "rule",
    "API002": "rule",
    "API003": "rule",
    "API004": "rule",
    "API006": "rule",
    "API009": "rule",
    "API010": "rule",
    "CCH001": "by construction: tests/engines/test_engines.py::test_caches_are_kept_between_restarts",
    "CCH005": "by construction: tests/engines/test_aeon_vllm.py::test_a_drafter_that_would_be_downloaded_is_refused",
}
